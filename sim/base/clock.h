#ifndef AR_CLOCK_H
#define AR_CLOCK_H

#include <stddef.h>

/* Seconds of this machine's monotonic clock, also inside a simulation. */
double ar_clock_s(void);

/* The median of count values (0 for none); sorts them. */
double ar_median(double *value, size_t count);

#endif
