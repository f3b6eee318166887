/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for people, through libsmartcols: 80 columns wide where the terminal does not say otherwise. */
#ifndef GRANULE_TABLES_H
#define GRANULE_TABLES_H

#include <libsmartcols/libsmartcols.h>

/* A table with these column headers (NULL-terminated). The last column is cut when a line is too long for a
 * terminal. */
struct libscols_table *table_new(const char *const *columns);
/* Line feeds in the last column begin a new line of it. */
void table_wrap_last(struct libscols_table *table);
/* Adds a row with as many cells as columns; NULL is an empty one. */
void table_add(struct libscols_table *table, const char *const *cells);
/* Prints it; nothing for a table without rows. */
void table_print(struct libscols_table *table);

#endif
