#ifndef AR_FILL_H
#define AR_FILL_H

#include <stddef.h>
#include <stdint.h>

/* x[n] := values of mean 0 and standard deviation `scale`, a pure function of seed. Not
 * quite normal (a sum of four uniforms), but fast. */
void ar_fill_normal(float *x, size_t n, double scale, uint64_t seed);

#endif
