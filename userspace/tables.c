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
	for (size_t i = 0; columns[i]; i++)
		scols_table_new_column(table, columns[i], 0, columns[i + 1] ? 0 : SCOLS_FL_TRUNC);
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
