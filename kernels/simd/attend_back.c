/* Backward of attention: gradients of the sources and of the queries. With logit
 * z = r w.x, r = 1/rms(x), weight p and D = dh.h,
 *     dz = p (dh.x - D)      (sigmoid: dh.x p (1 - p))
 *     dx += p dh + dz (r w - z r^2 x / d),    dw += dz r x.
 * Given weights: dx += p dh, dp = dh.x.
 * Two matrix products for z and dh.x, then three for the sums, which go over the columns in
 * strips: all rows of a strip stay in the first-level cache. */

#include "../back_pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* A token's tile of k sources against `count` queries from q0; rows of floats, a stride
 * apart. */
typedef struct {
    size_t t, q0, count, k;
    const float *x, *dh, *w; /* w NULL: given weights */
    float *dw;
    element *grad[TILE];
    float *part;                 /* gradients so far, where there are more queries than BATCH */
    bool first, last;            /* batch of queries */
    float norm[TILE], own[TILE]; /* own[i]: the weight of x_i in its own gradient */
    /* p and c = dz r, by query and by source */
    float p[BATCH][TILE], c[BATCH][TILE], by_source[TILE][BATCH];
} square;

/* Statistics of a batch of queries; lanes without a query give c = 0. */
typedef struct {
    float max[BATCH], sum[BATCH], dot[BATCH];
} statistics;

static void statistics_load(const ar_attend_back *a, size_t q0, size_t count, size_t t,
                            statistics *s) {
    for (size_t q = 0; q < BATCH; q++) {
        const bool there = q < count && !a->variant.sigmoid;
        const size_t at = (q0 + q) * a->scalars + t;
        s->max[q] = there ? a->max[at] : 0.0f;
        s->sum[q] = there ? a->sum[at] : 1.0f;
        s->dot[q] = there ? a->dot[at] : 0.0f;
    }
}

/* From products z = x.w and g = x.dh to weights. */
static void differentiate(const ar_attend_back *a, square *s, const float (*z)[BATCH],
                          const float (*g)[BATCH]) {
    statistics about;
    statistics_load(a, s->q0, s->count, s->t, &about);
    for (size_t i = 0; i < s->k; i++) {
        const float r = s->norm[i];
        vec own = {0};
        for (size_t q = 0; q < BATCH; q += VL) {
            const vec logit = vec_get(&z[i][q], VL) * r, gain = vec_get(&g[i][q], VL);
            vec p, dz;
            if (a->variant.sigmoid) {
                p = sigmoid(logit);
                dz = gain * p * (1.0f - p);
            } else {
                p = vec_exp(logit - vec_get(about.max + q, VL)) / vec_get(about.sum + q, VL);
                dz = p * (gain - vec_get(about.dot + q, VL));
            }
            own += dz * logit;
            dz *= r;
            vec_put(&s->by_source[i][q], dz, VL);
            for (size_t lane = 0; lane < VL; lane++) {
                s->p[q + lane][i] = p[lane];
                s->c[q + lane][i] = dz[lane];
            }
        }
        s->own[i] = a->variant.raw_keys ? 0.0f : -vec_sum(own) * r * r / (float)a->width;
    }
}

/* Given weights, and the sums of their gradients, [queries][n]. */
static void given(const ar_attend_back *a, square *s, size_t from, const float (*g)[BATCH],
                  float *sums) {
    for (size_t i = 0; i < s->k; i++) {
        s->own[i] = 0.0f;
        for (size_t q = 0; q < s->count; q++) {
            s->p[q][i] = a->fixed[(s->q0 + q) * a->pitch + from + i];
            sums[(s->q0 + q) * a->n + from + i] += g[i][q];
        }
    }
}

/* ---- sums ---- */

/* Outputs of a register tile, of two vectors each. */
enum { OUTPUTS = VL == 16 ? 8 : 4 };
_Static_assert((int)TILE == (int)BATCH, "rows of weights by query and by source are as far apart");

/* sum[o] += sum over k of weight[k][o] row_k, at one or two vectors of columns. */
INLINE void add_terms(size_t n, size_t columns, size_t outputs, size_t terms, const float *row,
                      size_t stride, const float *weight, vec (*sum)[2]) {
    for (size_t k = 0; k < terms; k++, row += stride, weight += BATCH) {
        vec x[2];
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++)
            x[c] = vec_get(row + c * VL, n);
#pragma GCC unroll 8
        for (size_t o = 0; o < outputs; o++) {
            const vec w = vec_all(weight[o]);
#pragma GCC unroll 2
            for (size_t c = 0; c < columns; c++)
                sum[o][c] = vec_fma(w, x[c], sum[o][c]);
        }
    }
}

INLINE void to_sources(size_t j, size_t n, size_t columns, size_t outputs, const square *s,
                       size_t i, size_t stride) {
    vec sum[OUTPUTS][2];
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++) {
        const vec own = vec_all(s->own[i + o]);
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++) {
            const size_t at = j + c * VL;
            const vec before = s->first ? vec_load(s->grad[i + o] + at, n)
                                        : vec_get(s->part + (i + o) * stride + at, n);
            sum[o][c] = vec_fma(own, vec_get(s->x + (i + o) * stride + at, n), before);
        }
    }
    add_terms(n, columns, outputs, s->count, s->dh + j, stride, &s->p[0][i], sum);
    if (s->w) add_terms(n, columns, outputs, s->count, s->w + j, stride, &s->c[0][i], sum);
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++)
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++) {
            const size_t at = j + c * VL;
            if (s->last)
                vec_store(s->grad[i + o] + at, sum[o][c], n);
            else
                vec_put(s->part + (i + o) * stride + at, sum[o][c], n);
        }
}

INLINE void to_queries(size_t j, size_t n, size_t columns, size_t outputs, const square *s,
                       size_t q, size_t stride) {
    vec sum[OUTPUTS][2];
    float *const dw = s->dw + q * stride + j;
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++)
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++)
            sum[o][c] = vec_get(dw + o * stride + c * VL, n);
    add_terms(n, columns, outputs, s->k, s->x + j, stride, &s->by_source[0][q], sum);
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++)
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++)
            vec_put(dw + o * stride + c * VL, sum[o][c], n);
}

/* All outputs of a strip, in register tiles of 8, 4, 2 and 1. */
#define IN_TILES(count, sums)                                                                      \
    do {                                                                                           \
        size_t o_ = 0;                                                                             \
        for (; o_ + OUTPUTS <= (count); o_ += OUTPUTS)                                             \
            sums(j, n, columns, OUTPUTS, s, o_, stride);                                           \
        if (OUTPUTS == 8 && o_ + 4 <= (count)) {                                                   \
            sums(j, n, columns, 4, s, o_, stride);                                                 \
            o_ += 4;                                                                               \
        }                                                                                          \
        if (o_ + 2 <= (count)) {                                                                   \
            sums(j, n, columns, 2, s, o_, stride);                                                 \
            o_ += 2;                                                                               \
        }                                                                                          \
        if (o_ < (count)) sums(j, n, columns, 1, s, o_, stride);                                   \
    } while (0)

INLINE void strip(size_t j, size_t n, size_t columns, const square *s, size_t stride) {
    IN_TILES(s->k, to_sources);
    if (s->w) IN_TILES(s->count, to_queries);
}

static void sums(const square *s, size_t d) {
    const size_t stride = ar_row_stride(d);
    size_t j = 0;
    for (; j + 2 * VL <= d; j += 2 * VL)
        strip(j, VL, 2, s, stride);
    for (; j + VL <= d; j += VL)
        strip(j, VL, 1, s, stride);
    if (j < d) strip(j, d - j, 1, s, stride);
}

/* ---- a token ---- */

/* A thread's rows. */
typedef struct {
    float *x, *part, *dh, *query, *dw, *dfixed;
} room;

static void open_queries(const ar_attend_back *a, square *s, const room *at) {
    const size_t d = a->width, stride = ar_row_stride(d);
    const element *from[BATCH];
    float unused[BATCH];
    for (size_t q = 0; q < s->count; q++)
        from[q] = (const element *)a->dh + (s->q0 + q) * a->vectors + s->t * d;
    pack(s->count, d, from, at->dh, unused);
    s->w = a->fixed ? NULL : at->query + s->q0 * stride;
    s->dw = a->fixed ? NULL : at->dw + s->q0 * stride;
}

static void open_sources(const ar_attend_back *a, square *s, size_t first, const element **next,
                         const room *at) {
    const size_t d = a->width;
    const element *from[TILE];
    s->k = a->n - first < TILE ? a->n - first : TILE;
    for (size_t k = 0; k < s->k; k++) {
        const size_t i = first + k, index = i ? i + a->skip : 0;
        const void *const x = a->open && i == a->n - 1 ? a->open : a->source[index];
        from[k] = (const element *)x + s->t * d;
        next[k] = from[k] + d;
        s->grad[k] = (element *)a->grad[index] + s->t * d;
    }
    pack(s->k, d, from, at->x, s->norm);
    for (size_t k = 0; k < s->k; k++)
        s->norm[k] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, s->norm[k]);
}

static void cross(const ar_attend_back *a, square *s, size_t from, const element *const *x,
                  const room *at) {
    const size_t d = a->width, stride = ar_row_stride(d);
    float z[TILE][BATCH] = {{0}}, g[TILE][BATCH] = {{0}};
    const float *row[TILE];
    for (size_t k = 0; k < s->k; k++)
        row[k] = at->x + k * stride;
    s->x = at->x;
    s->dh = at->dh;
    s->part = at->part;
    /* fetched on the way: the gradients that the sums add to, then the next token's sources */
    dots(s->k, s->count, d, row, s->dh, stride, g, (const element *const *)s->grad);
    if (a->fixed) {
        given(a, s, from, (const float(*)[BATCH])g, at->dfixed);
    } else {
        dots(s->k, s->count, d, row, s->w, stride, z, x);
        differentiate(a, s, (const float(*)[BATCH])z, (const float(*)[BATCH])g);
    }
    sums(s, d);
}

static void token(const ar_attend_back *a, size_t t, const room *at) {
    const size_t batches = (a->queries + BATCH - 1) / BATCH;
    square s;
    s.t = t;
    for (size_t i = 0; i < a->n; i += TILE) {
        const element *x[TILE];
        open_sources(a, &s, i, x, at);
        for (size_t b = 0; b < batches; b++) {
            s.q0 = b * BATCH;
            s.count = a->queries - s.q0 < BATCH ? a->queries - s.q0 : BATCH;
            s.first = b == 0;
            s.last = b + 1 == batches;
            if (i == 0 || batches > 1) open_queries(a, &s, at);
            cross(a, &s, i, x, at);
        }
    }
}

INLINE void own_step(size_t j, size_t n, const float *dw, element *down) {
    vec_store(down + j, vec_get(dw + j, n), n);
}

/* scratch: the sums of dw or, of given weights, dp; then rows. */
void AR_SIMD(attend_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_attend_back *const a = args;
    const size_t d = a->width, stride = ar_row_stride(d);
    const size_t sums = a->fixed ? a->queries * a->n : a->queries * stride;
    const size_t queries = a->fixed ? 0 : a->queries;
    room at = {.dw = scratch, .dfixed = scratch};
    at.x = scratch + (sums + 15) / 16 * 16;
    at.part = at.x + TILE * stride;
    at.dh = at.part + TILE * stride;
    at.query = at.dh + BATCH * stride;
    memset(scratch, 0, sums * sizeof *scratch);
    for (size_t q = 0; !a->own && q < queries; q++)
        memcpy(at.query + q * stride, a->query + q * d, d * sizeof *a->query);
    for (size_t t = first; t < last; t++) {
        if (a->own) {
            const element *const w = (const element *)a->own + t * d;
            float unused;
            pack(1, d, &w, at.query, &unused);
            memset(at.dw, 0, d * sizeof *at.dw);
        }
        token(a, t, &at);
        if (a->own) STRIPS(d, own_step, at.dw, (element *)a->down + t * d);
    }
}
