#ifndef AR_CSV_H
#define AR_CSV_H

/* CSV as in RFC 4180: comma, quotes doubled inside quotes, one header row. Lines
 * end in LF (CRLF is read too). */

#include <stddef.h>
#include <stdio.h>

#include "err.h"

/* Write one cell, quoted where needed; a comma first unless it begins the row. */
void ar_csv_cell(FILE *out, const char *text, int first);

typedef struct {
    char **cell; /* [rows][columns], row 0 the header; owned, as one block of text */
    size_t rows; /* data rows, without the header */
    size_t columns;
    char *text;
} ar_csv;

/* Read a whole file. Every row must have as many cells as the header. */
ar_status ar_csv_read(const char *path, ar_csv *csv, ar_err *err);
void ar_csv_free(ar_csv *csv);

/* Column of a name, or -1. */
int ar_csv_column(const ar_csv *csv, const char *name);

/* Cell of data row (0 first) and column name; "" where the column is absent. */
const char *ar_csv_get(const ar_csv *csv, size_t row, const char *name);

/* The cell as a number; NAN where it is empty or not a number. */
double ar_csv_number(const ar_csv *csv, size_t row, const char *name);

#endif
