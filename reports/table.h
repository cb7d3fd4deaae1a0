#ifndef AR_TABLE_H
#define AR_TABLE_H

/* Markdown tables that read well as plain text: columns are aligned, numbers to
 * the right; what Markdown or HTML would take for markup is escaped. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "units.h"

typedef struct {
    char **cell; /* [count], row by row, the header first; owned */
    size_t columns, count, room;
    bool failed; /* out of memory */
} ar_table;

/* Cells are added one after the other; `columns` of them are the header. */
void ar_table_text(ar_table *table, const char *text);
void ar_table_quantity(ar_table *table, ar_unit unit, double value); /* NAN: "-" */
void ar_table_fixed(ar_table *table, double value, int decimals);    /* NAN: "-" */

/* Write the table and a blank line, free it and leave it empty. Rows begun are
 * left out; a table with no row below the header is not written. Without memory a
 * line says that the table is missing. */
void ar_table_write(ar_table *table, FILE *out);

#endif
