/* dot = x . y, token by token. */

#include "../back_pass.h"
#include "tile.h"

INLINE void dot_step(size_t j, size_t n, size_t d, const element *x, const element *y, vec *sum) {
    fetch(x + d + j);
    fetch(y + d + j);
    *sum = vec_fma(vec_load(x + j, n), vec_load(y + j, n), *sum);
}

void AR_SIMD(dot)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_dot *const a = args;
    const size_t d = a->width;
    (void)scratch;
    for (size_t t = first; t < last; t++) {
        vec sum = {0};
        STRIPS(d, dot_step, d, (const element *)a->x + t * d, (const element *)a->y + t * d, &sum);
        a->dot[t] = vec_sum(sum);
    }
}
