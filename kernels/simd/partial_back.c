/* Backward of one layer's attention over its block's partial sum (see attend_back.c): a token's
 * gradients in one sweep with the next one's dot products. */

#include "../back_pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum { SQUARES, LOGIT, GAIN, DOT };

/* A token's rows, and what its sums gave: the weights of dh, w and x in the gradient. */
typedef struct {
    const element *dh, *h, *x; /* h NULL: no use for it */
    element *grad;
    vec p, dz, own;
} token;

/* Of `now` the gradients, of `next` the sums. */
INLINE void step(size_t j, size_t n, bool add, bool look, const float *w, float *dw,
                 const token *now, const token *next, vec *sum) {
    const vec query = vec_get(w + j, n);
    if (look) {
        const vec x = vec_load(next->x + j, n), dh = vec_load(next->dh + j, n);
        fetch(next->x + j + AHEAD);
        fetch(next->dh + j + AHEAD);
        sum[SQUARES] = vec_fma(x, x, sum[SQUARES]);
        sum[LOGIT] = vec_fma(x, query, sum[LOGIT]);
        sum[GAIN] = vec_fma(x, dh, sum[GAIN]);
        if (next->h) {
            fetch(next->h + j + AHEAD);
            sum[DOT] = vec_fma(vec_load(next->h + j, n), dh, sum[DOT]);
        }
    }
    if (add) {
        const vec x = vec_load(now->x + j, n);
        fetch(now->grad + j + AHEAD);
        vec s = vec_fma(now->p, vec_load(now->dh + j, n), vec_load(now->grad + j, n));
        s = vec_fma(now->dz, query, s);
        vec_store(now->grad + j, vec_fma(now->own, x, s), n);
        vec_put(dw + j, vec_fma(now->dz, x, vec_get(dw + j, n)), n);
    }
}

static void weights_of(const ar_partial_back *a, size_t t, vec sums, token *k) {
    const size_t d = a->width;
    const float r = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, sums[SQUARES]);
    const float logit = sums[LOGIT] * r;
    float p, dz;
    if (a->variant.sigmoid) {
        p = sigmoid(vec_all(logit))[0];
        dz = sums[GAIN] * p * (1.0f - p);
    } else {
        p = exp_of(logit - a->max[t]) / a->sum[t];
        dz = p * (sums[GAIN] - sums[DOT]);
        a->dot[t] = sums[DOT];
    }
    k->p = vec_all(p);
    k->dz = vec_all(dz * r);
    k->own = vec_all(a->variant.raw_keys ? 0.0f : -dz * logit * r * r / (float)d);
}

/* The gradients of token `now`, if add, and the sums of token t, which takes its place, if look. */
INLINE void walk(const ar_partial_back *a, size_t t, bool add, bool look, token *now, float *dw) {
    const size_t d = a->width;
    const token before = *now;
    token next = {.h = NULL};
    vec sum[VL] = {{0}};
    if (look) {
        next.dh = (const element *)a->dh + t * d;
        next.x = (const element *)a->x + t * d;
        next.grad = (element *)a->grad + t * d;
        if (!a->variant.sigmoid) next.h = (const element *)a->h + t * d;
    }
    STRIPS(d, step, add, look, a->query, dw, &before, &next, sum);
    if (!look) return;
    weights_of(a, t, vec_sums(sum), &next);
    *now = next;
}

void AR_SIMD(partial_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_partial_back *const a = args;
    token now = {.h = NULL};
    memset(scratch, 0, a->width * sizeof *scratch);
    if (first == last) return;
    walk(a, first, false, true, &now, scratch);
    for (size_t t = first + 1; t < last; t++)
        walk(a, t, true, true, &now, scratch);
    walk(a, last, true, false, &now, scratch);
}
