/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What granule remembers between boots: records and a history in /var/lib/granule (below --root).
 *
 * A record is a file NAME.json of two lines: {"granule": NAME, "version": 1, "sha256": HEX}, and the record
 * itself as one line of JSON that the checksum is of. It is replaced as a whole, see safe_file.h. */
#ifndef GRANULE_STATE_H
#define GRANULE_STATE_H

#include <json-c/json.h>

#include "options.h"

#define STATE_FOLDER "var/lib/granule"

struct state {
	const struct options *o;
	char *folder;
	int lock; /* descriptor; -1 if it is not locked */
};

/* For reading only; a folder that is not there is an empty state. */
void state_open(const struct options *o, struct state *ret);

/* For changes: makes the folder and waits until no other granule changes the state; the lock lasts until
 * state_close(). With --dry-run nothing is made or locked. Returns 0 or -errno after one printed line. */
int state_open_locked(const struct options *o, struct state *ret);

/* Locks it if it is there, also where nothing can be written: for commands that have to do with it only if a
 * trial waits. Returns 0 or -errno after one printed line. */
int state_open_existing(const struct options *o, struct state *ret);

void state_close(struct state *s);

/* Reads a record. Returns 0, or -ENOENT if there is none, -EPROTO if a newer granule wrote it, another -errno
 * if it cannot be read; all but -ENOENT after one printed line. A damaged record counts as none: if the state
 * is locked it is set aside under the name NAME.json.damaged (.damaged-2, ...), with one printed line. */
int state_read(struct state *s, const char *name, json_object **ret);

/* Sets a record aside as damaged, when its checksum is right and what it says is not. */
void state_set_aside(struct state *s, const char *name, const char *problem);

/* Replaces a record, on the disk when it returns. Takes nothing; does nothing with --dry-run. Returns 0 or
 * -errno after one printed line; on error the old record stands. */
int state_write(struct state *s, const char *name, json_object *record);

/* Removes a record; none is success. Like state_write(), it refuses (-EPROTO) what a newer granule wrote. */
int state_remove(struct state *s, const char *name);

/* ---- history: one JSON object per line, oldest first ---- */

/* Appends one line, on the disk when it returns. A line that a power cut left without its end is closed
 * first; a file over HISTORY_MAX becomes history.jsonl.1 before (and that one .2, up to .HISTORY_FILES). */
int history_add(struct state *s, json_object *line);

/* All lines that can be read, oldest first, as a new JSON array; *ret_damaged counts those that cannot. A
 * file that cannot be read at all is one printed line. */
json_object *history_read(struct state *s, size_t *ret_damaged);

#define HISTORY_MAX (256u << 10)
#define HISTORY_FILES 4

/* ---- shared by records and history ---- */

/* One JSON object that fills the whole line; NULL if it is none. */
json_object *state_parse_line(struct span line);

/* Gives what has this name the name PATH.damaged (.damaged-2, ...). Returns 0 or -errno. */
int state_rename_damaged(const char *path, char **ret_new);

#endif
