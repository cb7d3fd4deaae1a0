/* Highway: h = (1 - g) h + g v, g = sigmoid of the gate's logit. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

INLINE void element_step(size_t j, size_t n, element *h, const element *v, const element *gate) {
    const vec g = sigmoid(vec_load(gate + j, n)), x = vec_load(h + j, n);
    vec_store(h + j, vec_fma(g, vec_load(v + j, n) - x, x), n);
}

INLINE void dot_step(size_t j, size_t n, size_t d, const element *h, const element *v,
                     const float *w, vec *sum) {
    const vec x = vec_load(h + j, n);
    fetch(h + d + j);
    fetch(v + d + j);
    sum[0] = vec_fma(x, x, sum[0]);
    sum[1] = vec_fma(x, vec_get(w + j, n), sum[1]);
}

INLINE void scalar_step(size_t j, size_t n, element *h, const element *v, vec g) {
    const vec x = vec_load(h + j, n);
    vec_store(h + j, vec_fma(g, vec_load(v + j, n) - x, x), n);
}

void AR_SIMD(gate)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_gate *const a = args;
    const size_t d = a->width;
    (void)scratch;
    for (size_t t = first; t < last; t++) {
        element *const h = (element *)a->h + t * d;
        const element *const v = (const element *)a->v + t * d;
        if (a->gate) {
            STRIPS(d, element_step, h, v, (const element *)a->gate + t * d);
            continue;
        }
        vec sum[VL] = {{0}};
        STRIPS(d, dot_step, d, h, v, a->query, sum);
        const vec sums = vec_sums(sum);
        const vec g = vec_all(sigmoid(vec_all(sums[1] * ar_row_rms_inverse(d, sums[0])))[0]);
        STRIPS(d, scalar_step, h, v, g);
    }
}
