#ifndef AR_PROSE_H
#define AR_PROSE_H

#include <stdio.h>

#include "units.h"

/* Write one paragraph, wrapped, and a blank line. Written as "- ...": a list item. */
void ar_prose(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same from parts: begin returns a stream to write them to, end writes the
 * paragraph, if it is not empty, and closes the stream. */
typedef struct {
    FILE *stream;
    char *text;
    size_t size;
} ar_paragraph;
FILE *ar_paragraph_begin(ar_paragraph *paragraph); /* NULL: no memory */
void ar_paragraph_end(ar_paragraph *paragraph, FILE *out);

/* A number as text that lives to the end of the full expression: ar_show(...).text */
typedef struct {
    char text[64];
} ar_shown;
ar_shown ar_show(ar_unit unit, double value); /* NAN: "-" */
ar_shown ar_show_percent(double value);       /* "3.14 %" */

#endif
