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
