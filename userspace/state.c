/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <granule/sha256.h>

#include "report.h"
#include "safe_file.h"
#include "state.h"

#define STATE_VERSION 1
#define LOCK_NAME "lock"
/* A record is some hundred bytes; what is much larger is none of ours. */
#define RECORD_MAX (1u << 20)
#define DIGEST_TEXT (2 * SHA256_SIZE + 1)

void state_open(const struct options *o, struct state *ret)
{
	*ret = (struct state){ .o = o, .folder = path_join(o->root, STATE_FOLDER), .lock = -1 };
}

/* Anybody may read the state, whatever the umask of the one who changed it. */
static int make_folder(const char *folder)
{
	mode_t before = umask(022);
	int r = safe_folder_make(folder);

	umask(before);
	return r;
}

static int take_lock(struct state *s, int fd)
{
	int r;

	if (fd < 0)
		return -errno;
	while ((r = flock(fd, LOCK_EX)) < 0 && errno == EINTR)
		;
	if (r < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	s->lock = fd;
	return 0;
}

static int lock_folder_once(struct state *s)
{
	int r = make_folder(s->folder);

	if (r < 0)
		return r;
	/* What is written must not end up behind a link, least of all outside of --root. */
	_cleanup_close_ int folder = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (folder < 0)
		return -errno;
	/* Whoever can open it can hold it for ever: that is not for everybody. */
	return take_lock(s, openat(folder, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

/* A folder that is made at the same time takes the place of one that is still empty. */
static int lock_folder(struct state *s)
{
	int r = lock_folder_once(s);

	for (int tries = 0; r == -ENOENT && tries < 10; tries++)
		r = lock_folder_once(s);
	return r;
}

int state_open_locked(const struct options *o, struct state *ret)
{
	state_open(o, ret);
	if (o->dry_run)
		return 0;
	int r = lock_folder(ret);
	if (r < 0) {
		complain("%s: the state cannot be changed: %s", ret->folder, strerror(-r));
		state_close(ret);
	}
	return r;
}

int state_open_existing(const struct options *o, struct state *ret)
{
	state_open(o, ret);
	if (o->dry_run)
		return 0;
	_cleanup_free_ char *path = path_join(ret->folder, LOCK_NAME);
	int r = take_lock(ret, open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
	if (r < 0 && r != -ENOENT) {
		complain("%s: cannot be locked: %s", path, strerror(-r));
		state_close(ret);
		return r;
	}
	return 0;
}

void state_close(struct state *s)
{
	if (s->lock >= 0)
		close(s->lock);
	free(s->folder);
	*s = (struct state){ .lock = -1 };
}

/* ---- records ---- */

static char *record_path(const struct state *s, const char *name)
{
	return xprintf("%s/%s.json", s->folder, name);
}

static void digest_of(struct span text, char ret[DIGEST_TEXT])
{
	unsigned char digest[SHA256_SIZE];
	struct sha256 h;

	sha256_start(&h);
	sha256_add(&h, text.p, text.n);
	sha256_finish(&h, digest);
	for (size_t i = 0; i < SHA256_SIZE; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

/* Takes the first line off `text`, without its end; false if it has no end. */
static bool cut_line(struct span *text, struct span *ret)
{
	const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;

	if (!end)
		return false;
	*ret = span_cut(*text, 0, (size_t)(end - text->p));
	*text = span_cut(*text, ret->n + 1, text->n);
	return true;
}

/* Whether the text of a record is whole: NULL, or what is wrong with it. A newer version is not looked at any
 * further: *ret_version tells. */
static const char *parse_record(struct span text, const char *name, int64_t *ret_version, json_object **ret)
{
	struct span line;
	json_object *value;
	char digest[DIGEST_TEXT];

	*ret_version = 0;
	*ret = NULL;
	if (!text.n)
		return "it is empty";
	if (!cut_line(&text, &line))
		return "it is no record";
	json_object *head = state_parse_line(line);
	if (!head)
		return "it is no record";
	bool named = json_object_object_get_ex(head, "granule", &value) &&
		     json_object_is_type(value, json_type_string) &&
		     strcmp(json_object_get_string(value), name) == 0;
	if (json_object_object_get_ex(head, "version", &value) && json_object_is_type(value, json_type_int))
		*ret_version = json_object_get_int64(value);
	const char *problem = NULL;
	if (!named || *ret_version < 1)
		problem = "it is no such record";
	else if (*ret_version > STATE_VERSION)
		problem = "it is newer";
	else if (!cut_line(&text, &line))
		problem = "its end is missing";
	else if (text.n)
		problem = "something stands behind it";
	else {
		digest_of(line, digest);
		if (!json_object_object_get_ex(head, "sha256", &value) ||
		    !json_object_is_type(value, json_type_string) ||
		    strcmp(json_object_get_string(value), digest) != 0)
			problem = "its checksum is wrong";
		else if (!(*ret = state_parse_line(line)))
			problem = "it is no JSON object";
	}
	json_object_put(head);
	return problem;
}

/* Gives a file, or whatever has its name, another one that is free. Returns 0 or -errno. */
int state_rename_damaged(const char *path, char **ret_new)
{
	struct stat st;

	for (unsigned i = 1;; i++) {
		_cleanup_free_ char *number = i > 1 ? xprintf("-%u", i) : xstrdup("");
		_cleanup_free_ char *to = xprintf("%s.damaged%s", path, number);

		if (lstat(to, &st) == 0)
			continue;
		if (rename(path, to) < 0)
			return -errno;
		*ret_new = to;
		to = NULL;
		return 0;
	}
}

static void set_aside(struct state *s, const char *path, const char *problem)
{
	_cleanup_free_ char *new = NULL;

	if (s->lock < 0) {
		complain("%s: damaged: %s; passed over", path, problem);
		return;
	}
	int r = state_rename_damaged(path, &new);
	if (r < 0)
		complain("%s: damaged: %s; passed over, and it cannot be renamed: %s", path, problem,
			 strerror(-r));
	else
		complain("%s: damaged: %s; renamed to %s", path, problem, strrchr(new, '/') + 1);
}

void state_set_aside(struct state *s, const char *name, const char *problem)
{
	_cleanup_free_ char *path = record_path(s, name);

	set_aside(s, path, problem);
}

static int complain_newer(const char *path, int64_t version)
{
	complain("%s: written by a newer granule (version %lld of it), left alone; update granule, or remove "
		 "the "
		 "file",
		 path, (long long)version);
	return -EPROTO;
}

int state_read(struct state *s, const char *name, json_object **ret)
{
	_cleanup_free_ char *path = record_path(s, name), *data = NULL;
	size_t size = 0;
	int64_t version = 0;
	const char *problem;
	int r = read_file(path, RECORD_MAX, &data, &size);

	*ret = NULL;
	if (r == -ENOENT)
		return r;
	if (r == -EISDIR)
		problem = "it is a folder";
	else if (r == -EFBIG)
		problem = "it is too large";
	else if (r < 0) {
		complain("%s: cannot be read: %s", path, strerror(-r));
		return r;
	} else
		problem = parse_record((struct span){ data, size }, name, &version, ret);
	if (!problem)
		return 0;
	if (version > STATE_VERSION)
		return complain_newer(path, version);
	set_aside(s, path, problem);
	return -ENOENT;
}

/* What a newer granule keeps is not for this one to overwrite or remove. */
static int check_not_newer(const char *path, const char *name)
{
	_cleanup_free_ char *data = NULL;
	json_object *record;
	int64_t version;
	size_t size;

	if (read_file(path, RECORD_MAX, &data, &size) < 0)
		return 0;
	parse_record((struct span){ data, size }, name, &version, &record);
	json_object_put(record);
	return version > STATE_VERSION ? complain_newer(path, version) : 0;
}

int state_write(struct state *s, const char *name, json_object *record)
{
	_cleanup_free_ char *path = record_path(s, name);
	struct span line = span_of(json_object_to_json_string_ext(
		record, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	char digest[DIGEST_TEXT];
	struct stat st;

	if (s->o->dry_run)
		return 0;
	int r = check_not_newer(path, name);
	if (r < 0)
		return r;
	/* A file takes the place of a file, not of a folder. */
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		set_aside(s, path, "it is a folder");
	digest_of(line, digest);
	_cleanup_free_ char *text = xprintf("{\"granule\":\"%s\",\"version\":%d,\"sha256\":\"%s\"}\n%.*s\n",
					    name, STATE_VERSION, digest, (int)line.n, line.p);
	mode_t before = umask(022);
	r = safe_file_write(path, text, strlen(text));
	umask(before);
	if (r < 0)
		complain("%s: cannot be written: %s", path, strerror(-r));
	return r;
}

int state_remove(struct state *s, const char *name)
{
	_cleanup_free_ char *path = record_path(s, name);

	if (s->o->dry_run)
		return 0;
	int r = check_not_newer(path, name);
	if (r < 0)
		return r;
	r = safe_file_remove(path);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		complain("%s: cannot be removed: %s", path, strerror(-r));
	return r;
}

/* One JSON object that fills the whole line; NULL if it is none. */
json_object *state_parse_line(struct span line)
{
	json_object *object = NULL;

	/* The tokener takes a NUL for the end. */
	if (!line.n || line.n > INT32_MAX || line.p[0] != '{' || memchr(line.p, 0, line.n))
		return NULL;
	struct json_tokener *tokener = json_tokener_new();
	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, line.p, (int)line.n);
	if (object && (json_tokener_get_error(tokener) != json_tokener_success ||
		       json_tokener_get_parse_end(tokener) != line.n ||
		       !json_object_is_type(object, json_type_object))) {
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}
