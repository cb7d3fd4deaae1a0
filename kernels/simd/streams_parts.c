/* (m)HC, unfused: the sums that use a layer's coefficients, and an addition, a pass each. */

#include "../pass.h"
#include "tile.h"

enum { MOST = AR_MAX_STREAMS };

/* out[k] = sum_i weight[i][k] x[i] */
INLINE void combine_step(size_t j, size_t n, size_t in, size_t outs, const element *const *x,
                         element *const *out, const float *weight, bool stream) {
    for (size_t k = 0; k < outs; k++) {
        vec s = {0};
        for (size_t i = 0; i < in; i++)
            s = vec_fma(vec_load(x[i] + j, n), vec_all(weight[i * outs + k]), s);
        vec_write(out[k] + j, s, n, stream);
    }
}

void AR_SIMD(combine)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_combine *const a = args;
    const size_t d = a->width;
    const bool stream = a->stream && vec_aligned(a->out[0], d);
    const element *x[MOST];
    element *out[MOST];
    (void)scratch;
    for (size_t t = first; t < last; t++) {
        for (size_t i = 0; i < a->n; i++)
            x[i] = (const element *)a->x[i] + t * d;
        for (size_t k = 0; k < a->outs; k++)
            out[k] = (element *)a->out[k] + t * d;
        STRIPS(d, combine_step, a->n, a->outs, x, out, a->weight + t * a->stride, stream);
    }
    if (a->stream) vec_fence();
}

INLINE void sum_step(size_t j, size_t n, const element *x, const element *y, element *out,
                     bool stream) {
    vec_write(out + j, vec_load(x + j, n) + vec_load(y + j, n), n, stream);
}

void AR_SIMD(sum)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_sum *const a = args;
    const size_t d = a->width;
    (void)scratch;
    for (size_t k = 0; k < a->n; k++) {
        const bool stream = a->stream && vec_aligned(a->out[k], d);
        for (size_t t = first; t < last; t++)
            STRIPS(d, sum_step, (const element *)a->x[k] + t * d, (const element *)a->y[k] + t * d,
                   (element *)a->out[k] + t * d, stream);
    }
    if (a->stream) vec_fence();
}
