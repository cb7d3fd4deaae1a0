#ifndef AR_WORDS_H
#define AR_WORDS_H

/* How the report calls a row's parameters, and tables of them. */

#include "rows.h"
#include "table.h"

/* "Block AttnRes" for "block"; the name itself where it is not known. */
const char *ar_words_mechanism(const char *name);

/* "model `x` (54 layers, ...), 8 stages x 4 virtual, ...": everything but mechanism,
 * cache and hardware. */
void ar_words_point(FILE *out, const ar_rows *rows, size_t row);

/* The values of the parameters in `which`: "`ndr`, cache own, stages 8". */
void ar_words_where(FILE *out, const ar_rows *rows, size_t row, ar_params which);

/* Table cells, one a parameter in `which`: names for the header, values for a row. */
void ar_words_header(ar_table *table, ar_params which);
void ar_words_cells(ar_table *table, const ar_rows *rows, size_t row, ar_params which);
size_t ar_words_count(ar_params which);

/* "2.1 %", or "2.1 % to 4.0 %" where they differ as shown. */
void ar_words_range(FILE *out, double low, double high);

#endif
