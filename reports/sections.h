#ifndef AR_SECTIONS_H
#define AR_SECTIONS_H

/* The report's sections: each writes its heading and text from the rows, or
 * nothing where the rows do not speak to it. */

#include <stdio.h>

#include "rows.h"

void ar_section_summary(FILE *out, const ar_rows *rows);
void ar_section_surprise(FILE *out, const ar_rows *rows); /* a paragraph of the summary */
void ar_section_cost(FILE *out, const ar_rows *rows);
void ar_section_plots(FILE *out, const ar_rows *rows, const char *dir);
void ar_section_timelines(FILE *out, const ar_rows *rows, const char *dir);
void ar_section_wire(FILE *out, const ar_rows *rows);
void ar_section_memory(FILE *out, const ar_rows *rows);
void ar_section_bench(FILE *out, const char *dir);  /* from DIR/bench.csv, if it is there */
void ar_section_mixing(FILE *out, const char *dir); /* from DIR/mixing.csv, if it is there */
void ar_section_claims(FILE *out, const ar_rows *rows);
void ar_section_failed(FILE *out, const ar_rows *rows);
void ar_section_method(FILE *out, const ar_rows *rows);

/* Overheads that speak to a claim: rows of a mechanism, pass and, unless they are
 * AR_NO_ROW, of the same platform and the same cache as these rows. */
typedef struct {
    size_t points, below;   /* with an overhead; of them below the limit */
    size_t lowest, highest; /* rows; of no meaning when points is 0 */
    double low, high;
} ar_extent;
ar_extent ar_extent_find(const ar_rows *rows, const char *mechanism, const char *pass,
                         long platform, long cache, double limit_percent);

#endif
