#ifndef AR_REPORT_H
#define AR_REPORT_H

#include "err.h"

/* Read DIR/results.csv, and bench.csv and mixing.csv where they are there (one of them is
 * enough), and write DIR/report.md, DIR/plots/ (gnuplot scripts, SVG
 * and PNG) and, beside every timeline CSV that a row names, an SVG and a Chrome
 * trace. Without gnuplot the report says so, and so does stderr; the rest is kept.
 * No rows at all: AR_EINPUT. Failed rows are listed with their reason. */
ar_status ar_report_write(const char *dir, ar_err *err);

#endif
