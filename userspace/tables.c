/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tables.h"
#include "util.h"

#define TABLE_MAX_COLUMNS 8

static void free_iter(struct libscols_iter **iter)
{
	scols_free_iter(*iter);
}
#define _cleanup_iter_ __attribute__((cleanup(free_iter)))

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

/* Width of a text of printable ASCII characters; SIZE_MAX for another. */
static size_t plain_width(const char *text)
{
	size_t n = 0;

	for (; text[n]; n++)
		if (text[n] < ' ' || text[n] > '~')
			return SIZE_MAX;
	return n;
}

static void print_row(const size_t *widths, const char *const *cells, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		printf("%-*s ", (int)widths[i], cells[i]);
	puts(cells[n - 1]);
}

struct plain {
	struct libscols_column *columns[TABLE_MAX_COLUMNS];
	size_t widths[TABLE_MAX_COLUMNS], n;
};

static const char *cell_text(const struct plain *p, struct libscols_line *line, size_t i)
{
	const char *text = scols_line_get_column_data(line, p->columns[i]);

	return text ? text : "";
}

/* False for one that libsmartcols has to print. */
static bool measure(struct libscols_table *table, struct plain *p)
{
	_cleanup_iter_ struct libscols_iter *iter = scols_new_iter(SCOLS_ITER_FORWARD);
	struct libscols_line *line;

	p->n = scols_table_get_ncols(table);
	if (!iter || !p->n || p->n > TABLE_MAX_COLUMNS)
		return false;
	for (size_t i = 0; i < p->n; i++) {
		p->columns[i] = scols_table_get_column(table, i);
		p->widths[i] = plain_width(scols_column_get_name(p->columns[i]));
		if (p->widths[i] == SIZE_MAX || scols_column_get_flags(p->columns[i]))
			return false;
		p->widths[i] += !p->widths[i];
	}
	while (scols_table_next_line(table, iter, &line) == 0) {
		for (size_t i = 0; i < p->n; i++) {
			size_t width = plain_width(cell_text(p, line, i));
			p->widths[i] = width > p->widths[i] ? width : p->widths[i];
			if (width == SIZE_MAX)
				return false;
		}
	}
	return true;
}

/* What libsmartcols would print, for a table of plain characters: it goes over each of them about ten times,
 * which is most of the time that a list of some thousand entries takes. */
static bool print_plain(struct libscols_table *table)
{
	_cleanup_iter_ struct libscols_iter *iter = scols_new_iter(SCOLS_ITER_FORWARD);
	const char *cells[TABLE_MAX_COLUMNS];
	struct libscols_line *line;
	struct plain p;

	if (!iter || !measure(table, &p))
		return false;
	for (size_t i = 0; i < p.n; i++)
		cells[i] = scols_column_get_name(p.columns[i]);
	print_row(p.widths, cells, p.n);
	while (scols_table_next_line(table, iter, &line) == 0) {
		for (size_t i = 0; i < p.n; i++)
			cells[i] = cell_text(&p, line, i);
		print_row(p.widths, cells, p.n);
	}
	return true;
}

void table_print(struct libscols_table *table)
{
	if (!scols_table_is_empty(table) && !print_plain(table))
		scols_print_table(table);
}
