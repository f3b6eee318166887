/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tables.h"
#include "util.h"

struct libscols_table *table_new(const char *const *columns)
{
	struct libscols_table *table = scols_new_table();

	if (!table) {
		complain("out of memory");
		exit(EXIT_FAILED);
	}
	/* The width of a terminal cuts nothing: an id or a path is of use only as a whole. */
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	for (size_t i = 0; columns[i]; i++)
		scols_table_new_column(table, columns[i], 0, 0);
	return table;
}

void table_wrap_last(struct libscols_table *table)
{
	struct libscols_column *last = scols_table_get_column(table, scols_table_get_ncols(table) - 1);

	scols_column_set_flags(last, SCOLS_FL_WRAP);
	scols_column_set_safechars(last, "\n");
	scols_column_set_wrapfunc(last, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
}

void table_add(struct libscols_table *table, const char *const *cells)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	for (size_t i = 0; line && i < scols_table_get_ncols(table); i++)
		scols_line_set_data(line, i, cells[i]);
}

void table_print(struct libscols_table *table)
{
	if (!scols_table_is_empty(table))
		scols_print_table(table);
}
