/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "history.h"
#include "report.h"

static json_object *json_time(int64_t seconds)
{
	time_t t = seconds ? (time_t)seconds : time(NULL);
	struct tm tm;
	char text[40];

	/* A clock may say anything; no year is so long. */
	if (!gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return NULL;
	return json_object_new_string(text);
}

json_object *history_line_json(const struct history_line *line)
{
	json_object *o = json_object_new_object();
	char seconds[40];

	json_object_object_add(o, "time", json_time(line->time));
	json_object_object_add(o, "boot_id", json_text(line->boot_id));
	json_object_object_add(o, "kind", json_text(line->kind));
	json_object_object_add(o, "entry", json_text(line->entry));
	json_object_object_add(o, "entry_asked", json_text(line->entry_asked));
	json_object_object_add(o, "release", json_text(line->release));
	json_object_object_add(o, "page_size",
			       line->page_size ? json_page_size(page_size_from_bytes(line->page_size))
					       : NULL);
	json_object_object_add(o, "page_size_asked",
			       line->page_size_asked ? json_page_size(line->page_size_asked) : NULL);
	json_object_object_add(o, "trial", json_object_new_boolean(line->trial));
	json_object_object_add(o, "verdict", json_text(line->verdict));
	json_object_object_add(o, "reason", json_text(line->reason));
	/* A tenth of a second is what it is good for. */
	snprintf(seconds, sizeof(seconds), "%.1f", line->boot_seconds);
	json_object_object_add(o, "boot_seconds",
			       line->boot_seconds > 0 ? json_object_new_double_s(line->boot_seconds, seconds)
						      : NULL);
	json_object_object_add(o, "loader", json_text(line->loader));
	return o;
}

int history_write(struct state *s, const struct history_line *line)
{
	json_object *o = history_line_json(line);
	int r = history_add(s, o);

	json_object_put(o);
	return r;
}

const char *history_text(json_object *line, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(line, name, &value) && json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

const char *history_size(json_object *line, const char *name)
{
	const char *word = history_text(line, name);
	enum page_size size = page_size_parse(span_of(word));

	return size == PAGE_SIZE_UNKNOWN ? word : page_size_title(size);
}

char *history_time(json_object *line)
{
	const char *iso = history_text(line, "time");
	struct tm tm = { 0 };
	char text[40];
	const char *end = iso ? strptime(iso, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;

	if (!end || *end)
		return xstrdup(iso ? iso : "?");
	time_t t = timegm(&tm);
	return xstrdup(localtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm) ? text
												   : iso);
}

bool history_is_trial(json_object *line)
{
	json_object *trial;

	return json_object_object_get_ex(line, "trial", &trial) && json_object_get_boolean(trial);
}
