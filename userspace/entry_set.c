/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <granule/error.h>
#include <granule/path.h>

#include "entry_set.h"
#include "system.h"
#include "variables.h"

#define ENTRY_FILE_MAX (64 << 10) /* as the boot manager reads */
#define CONF_FILE_MAX (64 << 10)

/* ---- one entry ---- */

/* Path of an entry on its partition, found on the mounted one. FAT does not care about case, nor does
 * firmware. */
static char *partition_path(const struct places *places, struct span path)
{
	_cleanup_free_ char *relative = xstrndup(path);

	for (char *p = relative; *p; p++)
		if (*p == '\\')
			*p = '/';
	return path_join(places->boot, relative);
}

static bool scan_strings(int fd)
{
	enum { AT_ONCE = 1 << 20 };
	_cleanup_free_ char *buffer = xalloc(AT_ONCE);
	struct selectable_scan scan = { 0 };
	off_t at = 0;
	ssize_t n;

	while (!selectable_scan_result(&scan) && (n = pread(fd, buffer, AT_ONCE, at)) > 0) {
		selectable_scan_feed(&scan, buffer, (size_t)n);
		at += n;
	}
	return selectable_scan_result(&scan);
}

static void look_into_uki(int fd, struct image_head *head)
{
	char inner[ARM64_IMAGE_HEADER_SIZE];
	ssize_t n = pread(fd, inner, sizeof(inner), (off_t)head->uki_linux_offset);

	head->has_arm64 = n > 0 && arm64_image_parse(inner, (size_t)n, &head->arm64) == 0;
}

/* The same look at the kernel as the boot manager takes. Returns a phrase when it cannot be started. */
static char *look_at_image(const struct places *places, struct loaded_entry *e, uint16_t machine,
			   page_size_set cpu)
{
	_cleanup_free_ char *path = partition_path(places, e->entry.bls.path);
	_cleanup_free_ char *bytes = xalloc(PE_HEAD_SIZE);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct span shown = e->entry.bls.path;
	struct stat st;
	size_t offset;
	ssize_t n;

	if (fd < 0)
		return xprintf("%.*s: %s", (int)shown.n, shown.p,
			       errno == ENOENT ? "not found" : strerror(errno));
	if (fstat(fd, &st) < 0 || (n = pread(fd, bytes, PE_HEAD_SIZE, 0)) < 0)
		return xprintf("%.*s: %s", (int)shown.n, shown.p, strerror(errno));

	int error = image_head_parse(bytes, (size_t)n, (uint64_t)st.st_size, &e->head, &offset);
	const char *wrong = error ? error_text(error) : image_objection(&e->head, machine);
	if (wrong)
		return xprintf("%.*s: %s", (int)shown.n, shown.p, wrong);
	if (e->head.container == CONTAINER_UKI)
		look_into_uki(fd, &e->head);
	bool open_size = e->head.has_arm64 && e->head.arm64.page_size == PAGE_SIZE_UNKNOWN;
	bool strings = open_size && !e->entry.bls.image_selectable && scan_strings(fd);
	entry_set_page_size(&e->entry, &e->head, strings, cpu);
	return NULL;
}

/* Whether the initrds are there. */
static char *look_at_initrds(const struct places *places, const struct loaded_entry *e)
{
	const struct bls_entry *b = &e->entry.bls;
	uint64_t total = 0;

	if (b->start != BLS_START_LINUX || !b->n_initrd)
		return NULL;
	for (unsigned i = 0; i < b->n_initrd; i++) {
		_cleanup_free_ char *path = partition_path(places, b->initrd[i]);
		struct stat st;

		if (stat(path, &st) < 0)
			return xprintf("%.*s: %s", (int)b->initrd[i].n, b->initrd[i].p,
				       errno == ENOENT ? "not found" : strerror(errno));
		if (S_ISDIR(st.st_mode))
			return xprintf("%.*s: is a folder", (int)b->initrd[i].n, b->initrd[i].p);
		total += (uint64_t)st.st_size;
	}
	return total ? NULL : xprintf("%.*s: file is empty", (int)b->initrd[0].n, b->initrd[0].p);
}

static void free_entry(struct loaded_entry *e)
{
	free(e->file_name);
	free(e->id);
	free(e->text);
	free(e->options);
	free(e->problem);
	free(e);
}

static struct loaded_entry *read_entry(struct entry_set *set, const char *folder, const char *name)
{
	_cleanup_free_ char *path = path_join(folder, name);
	struct loaded_entry *e = xalloc(sizeof(*e));
	size_t size, offset;

	int r = read_file(path, ENTRY_FILE_MAX, &e->text, &size);
	if (r < 0) {
		strings_add(&set->skipped,
			    xprintf("%s: %s", name, r == -EFBIG ? "larger than 64 KiB" : strerror(-r)));
		goto bad;
	}
	e->file_name = xstrdup(name);
	e->entry.file_name = span_of(e->file_name);
	boot_counter_parse(e->entry.file_name, &e->entry.counter);
	e->id = xalloc(strlen(name) + 1);
	struct text id = text_in(e->id, strlen(name) + 1);
	boot_counter_id(&e->entry.counter, &id);
	e->entry.id = text_span(&id);

	e->options = xalloc(size + 1);
	int error = bls_parse((struct span){ e->text, size }, e->options, size + 1, &e->entry.bls, &offset);
	if (error == ERROR_NO_KERNEL) {
		strings_add(&set->skipped, xprintf("%s: %s", name, error_text(error)));
		goto bad;
	}
	if (error) {
		strings_add(&set->skipped, xprintf("%s: %s, at byte %zu", name, error_text(error), offset));
		goto bad;
	}
	return e;
bad:
	free_entry(e);
	return NULL;
}

/* ---- the set ---- */

static void add_entry(struct entry_set *set, struct loaded_entry *e)
{
	set->entries = xrealloc(set->entries, sizeof(*set->entries) * (set->n + 1));
	e->entry.position = set->n;
	set->entries[set->n++] = &e->entry;
}

/* What the boot manager would find wrong with an entry, and its page size on the way. */
static char *find_problem(const struct places *places, struct loaded_entry *e, uint16_t machine,
			  const struct entry_set *set)
{
	const struct bls_entry *b = &e->entry.bls;
	const char *feature = entry_unsupported_feature(&e->entry);

	if (feature)
		return xstrdup(feature);
	if (b->start == BLS_START_EFI && set->own_path && path_same(b->path, span_of(set->own_path)))
		return xstrdup("starts the boot manager itself");
	char *problem = look_at_initrds(places, e);
	return problem ? problem : look_at_image(places, e, machine, set->cpu);
}

static int read_entries(const struct places *places, uint16_t machine, struct entry_set *set)
{
	_cleanup_free_ char *folder = path_join(places->boot, "loader/entries");
	_cleanup_dir_ DIR *dir = opendir(folder);
	struct dirent *d;

	if (!dir) {
		if (errno == ENOENT)
			return 0;
		int r = -errno;
		complain("%s: %s", folder, strerror(errno));
		return r;
	}
	while ((d = readdir(dir))) {
		if (!bls_file_name_valid(span_of(d->d_name)))
			continue;
		struct loaded_entry *e = read_entry(set, folder, d->d_name);
		if (!e)
			continue;
		struct span architecture = e->entry.bls.architecture;
		const char *ours = pe_machine_efi_name(machine);
		if (architecture.n && !span_equal_nocase(architecture, span_of(ours))) {
			free_entry(e); /* for another machine: not listed, as in every loader */
			continue;
		}
		e->problem = find_problem(places, e, machine, set);
		e->entry.unusable = e->problem != NULL;
		add_entry(set, e);
	}
	entry_sort(set->entries, set->n);
	return 0;
}

void entry_set_input(struct entry_set *set)
{
	loader_conf_parse((struct span){ set->conf_text, set->conf_size }, &set->conf);
	set->input = (struct choose_input){
		.entries = (const struct entry *const *)set->entries,
		.n_entries = set->n,
		.cpu = set->cpu,
		.oneshot = span_of(set->oneshot),
		.preferred = set->has_preferred ? span_of(set->preferred) : SPAN_NONE,
		.preferred_config = set->has_preferred ? set->conf.preferred_pattern : SPAN_NONE,
		.default_variable = span_of(set->default_variable),
		.default_config = set->conf.default_pattern,
		.policy = set->has_policy ? loader_conf_policy(&set->conf, span_of(set->policy_variable))
					  : PAGE_SIZE_UNKNOWN,
	};
}

static bool is_loader(const char *info, const char *name)
{
	return info && strncmp(info, name, strlen(name)) == 0;
}

/* What the loader can do. A loader that is not known is taken for granule-boot, which is to be installed. */
static void read_loader(struct entry_set *set)
{
	set->loader = variable_get(VENDOR_LOADER, "LoaderInfo");
	set->features = variable_get_u64(VENDOR_LOADER, "LoaderFeatures", 0);
	/* As the interface has it for versions that did not tell yet. */
	if (!set->features && is_loader(set->loader, "systemd-boot"))
		set->features = FEATURE_CONFIG_TIMEOUT | FEATURE_ENTRY_DEFAULT | FEATURE_ENTRY_ONESHOT;
	set->has_policy = !set->loader || is_loader(set->loader, GRANULE_BOOT_NAME);
	set->has_preferred = !set->loader || (set->features & FEATURE_PREFERRED);
}

/* As the boot manager does, a file that cannot be read is passed over, with a word. */
static void read_conf(const struct places *places, struct entry_set *set)
{
	_cleanup_free_ char *path = path_join(places->boot, "loader/loader.conf");
	int r = read_file(path, CONF_FILE_MAX, &set->conf_text, &set->conf_size);

	if (r < 0) {
		set->conf_text = xstrdup("");
		set->conf_size = 0;
	}
	if (r < 0 && r != -ENOENT) {
		set->conf_problem = r == -EFBIG ? "larger than 64 KiB" : strerror(-r);
		complain("%s: %s; passed over", path, set->conf_problem);
	} else if (memchr(set->conf_text, 0, set->conf_size)) {
		set->conf_problem = "holds a NUL byte; repair it first";
	}
}

int entry_set_load(const struct options *o, const struct places *places, struct entry_set *ret)
{
	*ret = (struct entry_set){ .cpu = system_cpu(), .running_system = !system_is_other(o) };
	read_loader(ret);
	ret->oneshot = variable_get(VENDOR_LOADER, "LoaderEntryOneShot");
	ret->preferred = variable_get(VENDOR_LOADER, "LoaderEntryPreferred");
	ret->default_variable = variable_get(VENDOR_LOADER, "LoaderEntryDefault");
	ret->policy_variable = variable_get(VENDOR_GRANULE, "GranulePolicy");
	ret->own_path = variable_get(VENDOR_LOADER, "LoaderImageIdentifier");
	read_conf(places, ret);

	int r = read_entries(places, system_machine(o), ret);
	if (r < 0) {
		entry_set_free(ret);
		return r;
	}
	entry_set_input(ret);
	return 0;
}

void entry_set_free(struct entry_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		free_entry(loaded(set->entries[i]));
	free(set->entries);
	free(set->loader);
	free(set->oneshot);
	free(set->preferred);
	free(set->default_variable);
	free(set->policy_variable);
	free(set->own_path);
	free(set->conf_text);
	strings_free(&set->skipped);
	*set = (struct entry_set){ 0 };
}

const struct entry *entry_set_by_id(const struct entry_set *set, const char *id)
{
	for (size_t i = 0; id && i < set->n; i++)
		if (span_equal_nocase(set->entries[i]->id, span_of(id)))
			return set->entries[i];
	return NULL;
}

const char *entry_obstacle(const struct entry_set *set, const struct entry *e)
{
	if (e->unusable)
		return loaded(e)->problem;
	if (!entry_supported(e, set->cpu))
		return "this CPU lacks its page size";
	if (boot_counter_state(&e->counter) == STATE_BAD)
		return "it is bad: no tries are left";
	return NULL;
}

/* ---- names that people give ---- */

void entry_set_print_candidates(const struct entry_set *set, bool (*fits)(const struct entry *, const void *),
				const void *context)
{
	bool any = false;

	for (size_t i = 0; i < set->n; i++) {
		const struct entry *e = set->entries[i];
		if (fits && !fits(e, context))
			continue;
		const char *obstacle = entry_obstacle(set, e);
		fprintf(stderr, "%s  %-4s %.*s%s%s%s\n", any ? "" : "Candidates:\n",
			page_size_title(e->page_size), (int)e->id.n, e->id.p, obstacle ? " (" : "",
			obstacle ? obstacle : "", obstacle ? ")" : "");
		any = true;
	}
	if (!any)
		fputs("There are no entries; 'granule register' writes them.\n", stderr);
}

struct newest {
	enum page_size size;
	const struct entry *best;
};

static bool is_newest(const struct entry *e, const void *context)
{
	const struct newest *n = context;

	return e->page_size == n->size && !e->unusable && span_equal(e->bls.version, n->best->bls.version);
}

/* By id, or by kernel release. */
static bool is_match(const struct entry *e, const void *context)
{
	return entry_matches(e, span_of(context)) || span_equal(e->bls.version, span_of(context));
}

static const struct entry *resolve_size(const struct entry_set *set, enum page_size size)
{
	enum choose_outcome why;
	size_t equals;
	size_t i = choose_newest(&set->input, size, &equals, &why);

	if (i == SIZE_MAX) {
		if (why == OUTCOME_UNSUPPORTED)
			complain("this CPU lacks %s pages", page_size_title(size));
		else if (why == OUTCOME_NO_ENTRY)
			complain("no entry has %s pages", page_size_title(size));
		else
			complain("no entry with %s pages can be used", page_size_title(size));
		entry_set_print_candidates(set, NULL, NULL);
		return NULL;
	}
	if (equals > 1) {
		struct newest n = { size, set->entries[i] };
		complain("several entries with %s pages are equally new, name one", page_size_title(size));
		entry_set_print_candidates(set, is_newest, &n);
		return NULL;
	}
	return set->entries[i];
}

const struct entry *entry_set_resolve(const struct entry_set *set, const char *word, enum page_size *ret_size)
{
	const struct entry *found = NULL;
	size_t n = 0;

	*ret_size = page_size_parse_typed(span_of(word));
	if (*ret_size != PAGE_SIZE_UNKNOWN)
		return resolve_size(set, *ret_size);

	for (size_t i = 0; i < set->n; i++) {
		if (!is_match(set->entries[i], word))
			continue;
		found = set->entries[i];
		n++;
	}
	if (n == 1)
		return found;
	if (n == 0) {
		complain("%s: no entry has this id or release, and it is no page size (4k, 16k, 64k)", word);
		entry_set_print_candidates(set, NULL, NULL);
	} else {
		complain("%s: fits several entries, name one", word);
		entry_set_print_candidates(set, is_match, word);
	}
	return NULL;
}
