#include "fill.h"

#include <math.h>

/* splitmix64: Steele, Lea, Flood, OOPSLA 2014. */
static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void ar_fill_normal(float *x, size_t n, double scale, uint64_t seed) {
    uint64_t state = seed * 0xd1342543de82ef95u + 1;
    const double unit = scale * sqrt(3.0) / 65536.0; /* four uniforms of 16 bits */
    for (size_t i = 0; i < n; i++) {
        const uint64_t z = next(&state);
        const int64_t sum =
            (int64_t)((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48)) -
            2 * 65535;
        x[i] = (float)((double)sum * unit);
    }
}
