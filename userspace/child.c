/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "child.h"

#define GRACE_S 5.0

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- starting ---- */

struct started {
	pid_t pid;
	int output; /* read end, non-blocking */
};

/* In the child; tells the parent why there is no program. */
static _Noreturn void become(const struct child *c, int out, int err, int report, const sigset_t *signals)
{
	int null = open("/dev/null", O_RDONLY);
	int error;

	setsid();
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, signals, NULL);
	umask(022);
	/* dup2() also makes them stay open. */
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 && chdir("/") == 0) {
		if (null > 2)
			close(null);
		if (c->environment)
			environ = (char **)(uintptr_t)c->environment;
		/* execvp() would try a shell on what is no program. */
		if (strchr(c->arguments[0], '/'))
			execv(c->arguments[0], (char **)(uintptr_t)c->arguments);
		else
			execvp(c->arguments[0], (char **)(uintptr_t)c->arguments);
	}
	error = errno;
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Returns 0 or an errno. */
static int start(const struct child *c, int errors, const sigset_t *signals, struct started *ret)
{
	int out[2], report[2], error = 0;

	if (pipe2(out, O_CLOEXEC) < 0)
		return errno;
	if (pipe2(report, O_CLOEXEC) < 0) {
		error = errno;
		goto close_out;
	}
	ret->pid = fork();
	if (ret->pid == 0)
		become(c, out[1], errors >= 0 ? errors : out[1], report[1], signals);
	if (ret->pid < 0)
		error = errno;
	close(report[1]);
	ssize_t n = 0;
	while (!error && (n = read(report[0], &error, sizeof(error))) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (ret->pid > 0 && error) {
		while (waitpid(ret->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (!error) {
		close(out[1]);
		fcntl(out[0], F_SETFL, O_NONBLOCK);
		ret->output = out[0];
		return 0;
	}
	close(out[1]);
close_out:
	if (error)
		close(out[0]);
	return error;
}

/* ---- watching ---- */

struct kept {
	char *data;
	size_t n, keep, room;
	bool cut;
};

static void keep_bytes(struct kept *k, const char *data, size_t n)
{
	if (k->n + n > k->room) {
		k->room = 2 * (k->n + n);
		k->data = xrealloc(k->data, k->room);
	}
	memcpy(k->data + k->n, data, n);
	k->n += n;
	if (k->n > 2 * k->keep) {
		memmove(k->data, k->data + k->n - k->keep, k->keep);
		k->n = k->keep;
		k->cut = true;
	}
}

/* Reads what is there. False when nobody can write any more. */
static bool drain(int fd, struct kept *k)
{
	char buffer[4096];

	/* A program that never stops writing must not keep us here. */
	for (int i = 0; i < 256; i++) {
		ssize_t n = read(fd, buffer, sizeof(buffer));
		if (n > 0)
			keep_bytes(k, buffer, (size_t)n);
		else if (n == 0)
			return false;
		else if (errno != EINTR)
			return true;
	}
	return true;
}

/* Whether it has ended. It is not reaped yet: as long as it is not, its group is nobody else's. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

/* Until it has ended or `until`. */
static bool watch(const struct started *s, int signals, double until, struct kept *k)
{
	bool open = true;

	for (;;) {
		struct signalfd_siginfo info;
		double left = until - seconds_now();

		if (has_ended(s->pid)) {
			if (open)
				drain(s->output, k);
			return true;
		}
		if (left <= 0)
			return false;
		struct pollfd fds[2] = { { signals, POLLIN, 0 }, { open ? s->output : -1, POLLIN, 0 } };
		/* Should a signal get lost, it is noticed all the same. */
		poll(fds, 2, (int)(left < 1 ? left * 1000 + 1 : 1000));
		while (read(signals, &info, sizeof(info)) > 0)
			;
		if (open && fds[1].revents)
			open = drain(s->output, k);
	}
}

static void finish(struct child *c, const struct started *s, int signals, struct kept *k)
{
	if (!watch(s, signals, seconds_now() + c->timeout_s, k)) {
		c->timed_out = true;
		kill(-s->pid, SIGTERM);
		kill(-s->pid, SIGCONT);
		if (!watch(s, signals, seconds_now() + GRACE_S, k)) {
			kill(-s->pid, SIGKILL);
			/* In the midst of a disk access that never ends it cannot be killed. */
			if (!watch(s, signals, seconds_now() + GRACE_S, k))
				return;
		}
		/* What of its group it did not take with it. */
		kill(-s->pid, SIGKILL);
	}
	while (waitpid(s->pid, &c->status, 0) < 0 && errno == EINTR)
		;
}

static char *read_errors(int fd, size_t keep)
{
	char *text = xalloc(keep + 1);
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)keep ? size - (off_t)keep : 0;
	ssize_t n = pread(fd, text, keep, from);

	text[n > 0 ? n : 0] = 0;
	return text;
}

/* Bytes of NUL would end the text. */
static char *as_text(struct kept *k)
{
	size_t from = k->n > k->keep ? k->n - k->keep : 0;

	k->cut = k->cut || from;
	char *text = xalloc(k->n - from + 1);
	for (size_t i = from; i < k->n; i++)
		text[i - from] = k->data[i] ? k->data[i] : '?';
	return text;
}

bool child_run(struct child *c)
{
	_cleanup_close_ int errors = c->only_results ? memfd_create("errors", MFD_CLOEXEC) : -1;
	struct kept kept = { .keep = c->keep };
	struct started started = { .output = -1 };
	sigset_t chld, before;
	void (*handler)(int) = signal(SIGCHLD, SIG_DFL);

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &before);
	_cleanup_close_ int signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);

	c->status = -1;
	c->error = c->only_results && errors < 0 ? errno : 0;
	if (!c->error)
		c->error = start(c, errors, &before, &started);
	if (!c->error) {
		finish(c, &started, signals, &kept);
		close(started.output);
	}
	c->output = as_text(&kept);
	c->cut = kept.cut;
	c->errors = errors >= 0 ? read_errors(errors, 4096) : NULL;
	free(kept.data);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (handler != SIG_ERR)
		signal(SIGCHLD, handler);
	return !c->error && !c->timed_out && c->status == 0;
}

void child_free(struct child *c)
{
	free(c->output);
	free(c->errors);
	c->output = c->errors = NULL;
}

/* ---- words ---- */

char *last_line(const char *text, size_t max)
{
	size_t end = strlen(text), start;

	while (end && (unsigned char)text[end - 1] <= ' ')
		end--;
	start = end;
	while (start && text[start - 1] != '\n' && text[start - 1] != '\r')
		start--;
	while (start < end && (unsigned char)text[start] <= ' ')
		start++;
	return xstrndup((struct span){ text + start, end - start < max ? end - start : max });
}

char *child_fate(const struct child *c)
{
	if (c->error)
		return xprintf("cannot be started: %s", strerror(c->error));
	if (c->timed_out)
		return xprintf("took longer than %.0f s", c->timeout_s);
	if (WIFSIGNALED(c->status))
		return xprintf("killed by signal %d (%s)", WTERMSIG(c->status),
			       strsignal(WTERMSIG(c->status)));
	return xprintf("exit code %d", WEXITSTATUS(c->status));
}
