/* Backward of Highway's gate. With G the gradient of the output, D = v - h:
 * element-wise: dv = g G, dh = G - dv, dgate = G D g (1 - g);
 * scalar, z = r h.w, dz = g (1 - g) G.D: dh = (1 - g) G + dz (r w - z r^2 h / d), dw += dz r h. */

#include "../back_pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* A token's rows. */
typedef struct {
    element *grad, *dv, *dgate;
    const element *dh, *h, *v, *gate;
    bool stream;
} rows;

/* G = grad, and dh where there is one. */
INLINE vec whole(const rows *a, size_t j, size_t n, bool pending) {
    const vec g = vec_load(a->grad + j, n);
    return pending ? g + vec_load(a->dh + j, n) : g;
}

INLINE void element_back_step(size_t j, size_t n, const rows *a, bool pending) {
    const vec all = whole(a, j, n, pending), g = sigmoid(vec_load(a->gate + j, n));
    const vec dv = all * g, gap = vec_load(a->v + j, n) - vec_load(a->h + j, n);
    vec_write(a->dv + j, dv, n, a->stream);
    vec_write(a->dgate + j, dv * (1.0f - g) * gap, n, a->stream);
    vec_store(a->grad + j, all - dv, n);
}

INLINE void scalar_look_step(size_t j, size_t n, size_t d, const rows *a, bool pending,
                             const float *w, vec *sum) {
    const vec h = vec_load(a->h + j, n), gap = vec_load(a->v + j, n) - h;
    fetch(a->h + d + j);
    fetch(a->v + d + j);
    fetch(a->grad + d + j);
    if (pending) fetch(a->dh + d + j);
    sum[0] = vec_fma(h, h, sum[0]);
    sum[1] = vec_fma(h, vec_get(w + j, n), sum[1]);
    sum[2] = vec_fma(whole(a, j, n, pending), gap, sum[2]);
}

INLINE void scalar_back_step(size_t j, size_t n, const rows *a, bool pending, const float *w,
                             float *dw, vec g, vec dz, vec own) {
    const vec all = whole(a, j, n, pending), h = vec_load(a->h + j, n), dv = g * all;
    const vec through = vec_fma(own, h, vec_get(w + j, n) * dz);
    vec_write(a->dv + j, dv, n, a->stream);
    vec_store(a->grad + j, all - dv + through, n);
    vec_put(dw + j, vec_fma(dz, h, vec_get(dw + j, n)), n);
}

static void scalar(const ar_gate_back *a, const rows *row, bool pending, float *dw) {
    const size_t d = a->width;
    vec sum[VL] = {{0}};
    STRIPS(d, scalar_look_step, d, row, pending, a->query, sum);
    const vec sums = vec_sums(sum);
    const float r = ar_row_rms_inverse(d, sums[0]), z = sums[1] * r;
    const float g = sigmoid(vec_all(z))[0], dz = g * (1.0f - g) * sums[2];
    STRIPS(d, scalar_back_step, row, pending, a->query, dw, vec_all(g), vec_all(dz * r),
           vec_all(-dz * z * r * r / (float)d));
}

void AR_SIMD(gate_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_gate_back *const a = args;
    const size_t d = a->width;
    const bool stream =
        a->stream && vec_aligned(a->dv, d) && (!a->gate || vec_aligned(a->dgate, d));
    if (!a->gate) memset(scratch, 0, d * sizeof *scratch);
    for (size_t t = first; t < last; t++) {
        const size_t at = t * d;
        const rows row = {.grad = (element *)a->grad + at,
                          .dv = (element *)a->dv + at,
                          .dgate = a->gate ? (element *)a->dgate + at : NULL,
                          .dh = a->dh ? (const element *)a->dh + at : NULL,
                          .h = (const element *)a->h + at,
                          .v = (const element *)a->v + at,
                          .gate = a->gate ? (const element *)a->gate + at : NULL,
                          .stream = stream};
        if (!a->gate)
            scalar(a, &row, a->dh != NULL, scratch);
        else if (a->dh)
            STRIPS(d, element_back_step, &row, true);
        else
            STRIPS(d, element_back_step, &row, false);
    }
    if (stream) vec_fence();
}
