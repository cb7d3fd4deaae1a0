/* Backward of one layer's attention over its block's partial sum, in two sweeps over a token:
 * the dot products, then the gradients (see attend_back.c). */

#include "../back_pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum { SQUARES, LOGIT, GAIN, DOT };

INLINE void look_step(size_t j, size_t n, size_t d, const element *dh, const element *h,
                      const element *x, const element *grad, const float *w, vec *sum) {
    const vec a = vec_load(x + j, n), g = vec_load(dh + j, n);
    fetch(dh + d + j);
    fetch(x + d + j);
    fetch(grad + d + j);
    sum[SQUARES] = vec_fma(a, a, sum[SQUARES]);
    sum[LOGIT] = vec_fma(a, vec_get(w + j, n), sum[LOGIT]);
    sum[GAIN] = vec_fma(a, g, sum[GAIN]);
    if (!h) return;
    fetch(h + d + j);
    sum[DOT] = vec_fma(vec_load(h + j, n), g, sum[DOT]);
}

INLINE void add_back_step(size_t j, size_t n, const element *dh, const element *x, const float *w,
                          element *grad, float *dw, vec p, vec dz, vec own) {
    const vec a = vec_load(x + j, n);
    vec s = vec_fma(p, vec_load(dh + j, n), vec_load(grad + j, n));
    s = vec_fma(dz, vec_get(w + j, n), s);
    vec_store(grad + j, vec_fma(own, a, s), n);
    vec_put(dw + j, vec_fma(dz, a, vec_get(dw + j, n)), n);
}

void AR_SIMD(partial_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_partial_back *const a = args;
    const size_t d = a->width;
    memset(scratch, 0, d * sizeof *scratch);
    for (size_t t = first; t < last; t++) {
        const element *const dh = (const element *)a->dh + t * d;
        const element *const h = (const element *)a->h + t * d;
        const element *const x = (const element *)a->x + t * d;
        element *const grad = (element *)a->grad + t * d;
        vec sum[VL] = {{0}};
        float p, dz;
        if (a->variant.sigmoid)
            STRIPS(d, look_step, d, dh, NULL, x, grad, a->query, sum);
        else
            STRIPS(d, look_step, d, dh, h, x, grad, a->query, sum);
        const vec sums = vec_sums(sum);
        const float r = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, sums[SQUARES]);
        const float logit = sums[LOGIT] * r;
        if (a->variant.sigmoid) {
            p = sigmoid(vec_all(logit))[0];
            dz = sums[GAIN] * p * (1.0f - p);
        } else {
            p = exp_of(logit - a->max[t]) / a->sum[t];
            dz = p * (sums[GAIN] - sums[DOT]);
            a->dot[t] = sums[DOT];
        }
        const float own = a->variant.raw_keys ? 0.0f : -dz * logit * r * r / (float)d;
        STRIPS(d, add_back_step, dh, x, a->query, grad, scratch, vec_all(p), vec_all(dz * r),
               vec_all(own));
    }
}
