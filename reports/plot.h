#ifndef AR_PLOT_H
#define AR_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "units.h"

/* Grouped bars. value: [series][groups], NAN where there is none. Labels are the
 * caller's. unit: of the values; AR_UNIT_NONE has no prefixes. limit: a dashed line at that value
 * with its label; NAN for none. The axis is logarithmic where the values span more than 30 and
 * none is negative. */
typedef struct {
    const char *title, *axis;
    ar_unit unit;
    const char *const *group;
    size_t groups;
    const char *const *name;
    size_t series;
    const double *value;
    double limit;
    const char *limit_label;
} ar_bars;

/* Write DIR/plots/NAME.gp, which holds its data, and let gnuplot make NAME.svg and
 * NAME.png beside it. AR_ERUN: gnuplot is missing or failed, or the script could
 * not be written; a script that was written stays. */
ar_status ar_plot_bars(const char *dir, const char *name, const ar_bars *bars, ar_err *err);

#endif
