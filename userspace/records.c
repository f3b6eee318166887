/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "records.h"
#include "report.h"

#define VERIFIED "verified"
#define TRIAL "trial"

static const char *const wish_words[] = {
	[WISH_NONE] = "none",
	[WISH_POLICY] = "policy",
	[WISH_DEFAULT] = "default",
};

static const char *const stage_words[] = {
	[TRIAL_ARMED] = "armed",
	[TRIAL_PASSED] = "passed",
	[TRIAL_FAILED] = "failed",
};

static const char *const volume_words[] = {
	[VOLUME_OWN] = "esp",
	[VOLUME_XBOOTLDR] = "xbootldr",
	[VOLUME_SYSTEM] = "system",
};

#define N_WORDS(words) (sizeof(words) / sizeof(words[0]))

/* ---- fields of a record: each is there and of its type, or the record is damaged ---- */

struct fields {
	json_object *record;
	const char *bad; /* the first field that is not as it must be; NULL */
};

static json_object *field(struct fields *f, const char *name, enum json_type type, bool or_null)
{
	json_object *value = NULL;
	bool there = json_object_object_get_ex(f->record, name, &value);

	if (!f->bad && (!there || (value ? !json_object_is_type(value, type) : !or_null)))
		f->bad = name;
	return f->bad ? NULL : value;
}

/* Text without a NUL inside, which none of our fields has; NULL for null. */
static char *text_field(struct fields *f, const char *name, bool or_null)
{
	json_object *value = field(f, name, json_type_string, or_null);

	if (!value)
		return NULL;
	const char *text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value))
		f->bad = name;
	return f->bad ? NULL : xstrdup(text);
}

/* One that earlier versions did not write. */
static char *optional_text_field(struct fields *f, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(f->record, name, &value) ? text_field(f, name, true) : NULL;
}

static bool bool_field(struct fields *f, const char *name)
{
	return json_object_get_boolean(field(f, name, json_type_boolean, false));
}

static int64_t number_field(struct fields *f, const char *name, int64_t min, int64_t max)
{
	int64_t n = json_object_get_int64(field(f, name, json_type_int, false));

	if (!f->bad && (n < min || n > max))
		f->bad = name;
	return f->bad ? min : n;
}

static unsigned word_field(struct fields *f, const char *name, const char *const *words, size_t n)
{
	_cleanup_free_ char *text = text_field(f, name, false);

	for (unsigned i = 0; text && i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	if (!f->bad)
		f->bad = name;
	return 0;
}

static enum page_size page_size_field(struct fields *f, const char *name)
{
	_cleanup_free_ char *text = text_field(f, name, false);
	enum page_size size = page_size_parse(span_of(text));

	if (!f->bad && size == PAGE_SIZE_UNKNOWN && strcmp(text, page_size_word(size)) != 0)
		f->bad = name;
	return size;
}

static void strings_field(struct fields *f, const char *name, struct strings *ret)
{
	json_object *array = field(f, name, json_type_array, false);

	if (!f->bad && !json_strings_read(array, ret))
		f->bad = name;
}

/* Sets the record aside if a field was bad. Returns 0 or -ENOENT. */
static int finish_reading(struct state *s, const char *name, struct fields *f)
{
	_cleanup_free_ char *problem = f->bad ? xprintf("its %s is missing or wrong", f->bad) : NULL;

	json_object_put(f->record);
	if (!problem)
		return 0;
	state_set_aside(s, name, problem);
	return -ENOENT;
}

static json_object *json_word(const char *word)
{
	return json_object_new_string(word);
}

/* ---- what has been verified ---- */

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void choice_copy(struct choice *to, const struct choice *from)
{
	struct choice c = *from;

	c.entry = copy(from->entry);
	c.release = copy(from->release);
	c.boot_id = copy(from->boot_id);
	choice_free(to);
	*to = c;
}

void choice_free(struct choice *c)
{
	free(c->entry);
	free(c->release);
	free(c->boot_id);
	*c = (struct choice){ 0 };
}

void verified_free(struct verified *v)
{
	choice_free(&v->current);
	choice_free(&v->previous);
	baseline_free(&v->baseline);
}

bool verified_has(const struct verified *v, struct span id)
{
	return (v->current.entry && span_equal_nocase(id, span_of(v->current.entry))) ||
	       (v->previous.entry && span_equal_nocase(id, span_of(v->previous.entry)));
}

static void choice_field(struct fields *record, const char *name, struct choice *ret)
{
	struct fields f = { .record = field(record, name, json_type_object, true) };

	if (!f.record)
		return;
	ret->entry = text_field(&f, "entry", false);
	ret->page_size = page_size_field(&f, "page_size");
	ret->release = text_field(&f, "release", true);
	ret->wish = word_field(&f, "wish", wish_words, N_WORDS(wish_words));
	ret->boot_id = text_field(&f, "boot_id", true);
	ret->time = number_field(&f, "time", INT64_MIN, INT64_MAX);
	if (f.bad)
		record->bad = name;
}

int verified_read(struct state *s, struct verified *ret)
{
	struct fields f = { 0 };
	int r = state_read(s, VERIFIED, &f.record);

	*ret = (struct verified){ 0 };
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	choice_field(&f, "current", &ret->current);
	choice_field(&f, "previous", &ret->previous);
	json_object *baseline = field(&f, "baseline", json_type_object, true);
	if (!f.bad && !baseline_from_json(baseline, &ret->baseline))
		f.bad = "baseline";
	/* A part of it is not better than nothing: what was verified is known, or it is not. */
	if (finish_reading(s, VERIFIED, &f) < 0)
		verified_free(ret);
	return 0;
}

static json_object *json_choice(const struct choice *c)
{
	if (!c->entry)
		return NULL;
	json_object *o = json_object_new_object();
	json_object_object_add(o, "entry", json_text(c->entry));
	json_object_object_add(o, "page_size", json_page_size(c->page_size));
	json_object_object_add(o, "release", json_text(c->release));
	json_object_object_add(o, "wish", json_word(wish_words[c->wish]));
	json_object_object_add(o, "boot_id", json_text(c->boot_id));
	json_object_object_add(o, "time", json_object_new_int64(c->time));
	return o;
}

int verified_write(struct state *s, const struct verified *v)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "current", json_choice(&v->current));
	json_object_object_add(o, "previous", json_choice(&v->previous));
	json_object_object_add(o, "baseline", v->baseline.known ? baseline_to_json(&v->baseline) : NULL);
	int r = state_write(s, VERIFIED, o);
	json_object_put(o);
	return r;
}

/* ---- the trial ---- */

void trial_free(struct trial *t)
{
	free(t->target);
	free(t->entry);
	free(t->file);
	free(t->words);
	free(t->release);
	free(t->boot_id);
	free(t->judged_in);
	free(t->esp);
	strings_free(&t->dumps);
	free(t->verdict);
	free(t->reason);
	*t = (struct trial){ 0 };
}

int trial_read(struct state *s, struct trial *ret)
{
	struct fields f = { 0 };
	int r = state_read(s, TRIAL, &f.record);

	*ret = (struct trial){ 0 };
	if (r < 0)
		return r;
	ret->stage = word_field(&f, "stage", stage_words, N_WORDS(stage_words));
	ret->target = text_field(&f, "target", false);
	ret->entry = text_field(&f, "entry", false);
	ret->file = text_field(&f, "file", true);
	ret->words = optional_text_field(&f, "words");
	ret->volume = word_field(&f, "volume", volume_words, N_WORDS(volume_words));
	ret->page_size = page_size_field(&f, "page_size");
	ret->release = text_field(&f, "release", true);
	ret->by_size = bool_field(&f, "by_size");
	ret->keep = bool_field(&f, "keep");
	ret->tries = (unsigned)number_field(&f, "tries", 1, UINT16_MAX);
	ret->used = (unsigned)number_field(&f, "used", 0, UINT16_MAX);
	ret->deadline_s = (unsigned)number_field(&f, "deadline_s", 0, UINT32_MAX);
	ret->boot_id = text_field(&f, "boot_id", true);
	ret->judged_in = text_field(&f, "judged_in", true);
	ret->esp = text_field(&f, "esp", true);
	strings_field(&f, "dumps", &ret->dumps);
	ret->time = number_field(&f, "time", INT64_MIN, INT64_MAX);
	ret->verdict = text_field(&f, "verdict", true);
	ret->reason = text_field(&f, "reason", true);
	ret->unfinished = bool_field(&f, "unfinished");
	ret->rebooted = bool_field(&f, "rebooted");
	/* The file is removed when the trial is over: it must be one in the folder of entries. */
	if (!f.bad && ret->file && (strchr(ret->file, '/') || ret->file[0] == '.' || !*ret->file))
		f.bad = "file";
	r = finish_reading(s, TRIAL, &f);
	if (r < 0)
		trial_free(ret);
	return r;
}

int trial_write(struct state *s, const struct trial *t)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "stage", json_word(stage_words[t->stage]));
	json_object_object_add(o, "target", json_text(t->target));
	json_object_object_add(o, "entry", json_text(t->entry));
	json_object_object_add(o, "file", json_text(t->file));
	json_object_object_add(o, "words", json_text(t->words));
	json_object_object_add(o, "volume", json_word(volume_words[t->volume]));
	json_object_object_add(o, "page_size", json_page_size(t->page_size));
	json_object_object_add(o, "release", json_text(t->release));
	json_object_object_add(o, "by_size", json_object_new_boolean(t->by_size));
	json_object_object_add(o, "keep", json_object_new_boolean(t->keep));
	json_object_object_add(o, "tries", json_object_new_int64(t->tries));
	json_object_object_add(o, "used", json_object_new_int64(t->used));
	json_object_object_add(o, "deadline_s", json_object_new_int64(t->deadline_s));
	json_object_object_add(o, "boot_id", json_text(t->boot_id));
	json_object_object_add(o, "judged_in", json_text(t->judged_in));
	json_object_object_add(o, "esp", json_text(t->esp));
	json_object_object_add(o, "dumps", json_strings(&t->dumps));
	json_object_object_add(o, "time", json_object_new_int64(t->time));
	json_object_object_add(o, "verdict", json_text(t->verdict));
	json_object_object_add(o, "reason", json_text(t->reason));
	json_object_object_add(o, "unfinished", json_object_new_boolean(t->unfinished));
	json_object_object_add(o, "rebooted", json_object_new_boolean(t->rebooted));
	int r = state_write(s, TRIAL, o);
	json_object_put(o);
	return r;
}

int trial_remove(struct state *s)
{
	return state_remove(s, TRIAL);
}
