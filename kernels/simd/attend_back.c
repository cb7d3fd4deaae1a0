/* Backward of attention: gradients of the sources and of the queries. With logit
 * z = r w.x, r = 1/rms(x), weight p and D = dh.h,
 *     dz = p (dh.x - D)      (sigmoid: dh.x p (1 - p))
 *     dx += p dh + dz (r w - z r^2 x / d),    dw += dz r x.
 * Given weights: dx += p dh, dp = dh.x.
 * Two matrix products for z and dh.x, then three for the sums, which go over the columns in
 * strips, all rows of a strip in the first-level cache. */

#include "../back_pass.h"
#include "../row.h"
#include "strips.h"
#include "weigh.h"

/* A token's tile of k sources against `count` queries from q0, in strips. */
typedef struct {
    size_t t, q0, count, pitch, k; /* pitch: rows of dh, w and dw */
    const float *x, *dh, *w;       /* w NULL: given weights */
    float *dw;
    element *grad[TILE];
    float *part;                 /* gradients so far, where there are more queries than BATCH */
    bool first, last;            /* batch of queries */
    float norm[TILE], own[TILE]; /* own[i]: the weight of x_i in its own gradient */
    /* p and c = dz r, by query and by source */
    float p[BATCH][BATCH], c[BATCH][BATCH], by_source[TILE][BATCH];
} square;

_Static_assert((int)TILE <= (int)BATCH, "a tile's weights of one query are one row");

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

/* grad_i += sum over q of p dh + c w, and own x_i, in strip j. */
INLINE void to_sources(size_t j, size_t n, size_t m, size_t outputs, const square *s, size_t i,
                       ahead *next) {
    const size_t strip = j / STRIP;
    const float *const x = s->x + (strip * s->k + i) * STRIP;
    float *const part = s->part + (strip * s->k + i) * STRIP;
    vec sum[OUTPUTS][2];
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++) {
        const vec own = vec_all(s->own[i + o]);
        const element *const grad = s->grad[i + o] + j;
        const vec a = s->first ? vec_load(grad, n) : vec_get(part + o * STRIP, VL);
        const vec b = !s->first ? vec_get(part + o * STRIP + VL, VL)
                      : m       ? vec_load(grad + VL, m)
                                : (vec){0};
        sum[o][0] = vec_fma(own, vec_get(x + o * STRIP, VL), a);
        sum[o][1] = vec_fma(own, vec_get(x + o * STRIP + VL, VL), b);
    }
    const size_t at = strip * s->pitch * STRIP;
    add_terms(outputs, s->count, s->dh + at, (const float(*)[BATCH]) & s->p[0][i], sum, next);
    if (s->w)
        add_terms(outputs, s->count, s->w + at, (const float(*)[BATCH]) & s->c[0][i], sum, next);
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++) {
        element *const grad = s->grad[i + o] + j;
        if (!s->last) {
            vec_put(part + o * STRIP, sum[o][0], VL);
            vec_put(part + o * STRIP + VL, sum[o][1], VL);
            continue;
        }
        vec_store(grad, sum[o][0], n);
        if (m) vec_store(grad + VL, sum[o][1], m);
    }
}

/* dw_q += sum over i of c x_i, in strip j. */
INLINE void to_queries(size_t j, size_t n, size_t m, size_t outputs, const square *s, size_t q,
                       ahead *next) {
    float *const dw = s->dw + (j / STRIP * s->pitch + q) * STRIP;
    vec sum[OUTPUTS][2];
    (void)n;
    (void)m;
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++) {
        sum[o][0] = vec_get(dw + o * STRIP, VL);
        sum[o][1] = vec_get(dw + o * STRIP + VL, VL);
    }
    add_terms(outputs, s->k, s->x + j / STRIP * s->k * STRIP,
              (const float(*)[BATCH]) & s->by_source[0][q], sum, next);
#pragma GCC unroll 8
    for (size_t o = 0; o < outputs; o++) {
        vec_put(dw + o * STRIP, sum[o][0], VL);
        vec_put(dw + o * STRIP + VL, sum[o][1], VL);
    }
}

/* All outputs, in register tiles of 8, 4, 2 and 1. */
#define IN_TILES(count, sums)                                                                      \
    do {                                                                                           \
        size_t o_ = 0;                                                                             \
        for (; o_ + OUTPUTS <= (count); o_ += OUTPUTS)                                             \
            sums(j, n, m, OUTPUTS, s, o_, next);                                                   \
        if (OUTPUTS == 8 && o_ + 4 <= (count)) {                                                   \
            sums(j, n, m, 4, s, o_, next);                                                         \
            o_ += 4;                                                                               \
        }                                                                                          \
        if (o_ + 2 <= (count)) {                                                                   \
            sums(j, n, m, 2, s, o_, next);                                                         \
            o_ += 2;                                                                               \
        }                                                                                          \
        if (o_ < (count)) sums(j, n, m, 1, s, o_, next);                                           \
    } while (0)

/* n, m: elements of the strip's vectors. */
INLINE void sums_step(size_t j, size_t n, size_t m, const square *s, ahead *next) {
    IN_TILES(s->k, to_sources);
    if (s->w) IN_TILES(s->count, to_queries);
}

static void sums(const square *s, size_t d, ahead *next) {
    ahead here = *next; /* in registers */
    size_t j = 0;
    for (; j + STRIP <= d; j += STRIP)
        sums_step(j, VL, VL, s, &here);
    if (j < d) sums_step(j, first_of(d, j), second_of(d, j), s, &here);
    *next = here;
}

/* ---- a token ---- */

/* A thread's rows, in strips; dfixed and linear are plain. */
typedef struct {
    float *x, *part, *dh, *query, *dw, *dfixed;
    size_t pitch;
} room;

static void open_queries(const ar_attend_back *a, square *s, const room *at) {
    const size_t d = a->width, rows = s->q0 * strips_of(d) * STRIP;
    const element *from[BATCH];
    float unused[BATCH];
    for (size_t q = 0; q < s->count; q++)
        from[q] = (const element *)a->dh + (s->q0 + q) * a->vectors + s->t * d;
    strips_pack(s->count, d, from, at->dh, at->pitch, unused);
    s->w = a->fixed ? NULL : at->query + rows;
    s->dw = a->fixed ? NULL : at->dw + rows;
}

static void open_sources(const ar_attend_back *a, square *s, size_t first, const room *at) {
    const size_t d = a->width;
    const element *from[TILE];
    s->k = a->n - first < TILE ? a->n - first : TILE;
    for (size_t k = 0; k < s->k; k++) {
        const size_t i = first + k, index = i ? i + a->skip : 0;
        const void *const x = a->open && i == a->n - 1 ? a->open : a->source[index];
        from[k] = (const element *)x + s->t * d;
        s->grad[k] = (element *)a->grad[index] + s->t * d;
    }
    strips_pack(s->k, d, from, at->x, s->k, s->norm);
    for (size_t k = 0; k < s->k; k++)
        s->norm[k] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, s->norm[k]);
}

/* The rows of the next token that tile `first` and this batch will read; returns how many. */
static size_t foresee(const ar_attend_back *a, const square *s, size_t first,
                      const element **next) {
    const size_t d = a->width, at = (s->t + 1) * d;
    size_t count = 0;
    for (size_t k = 0; s->first && k < s->k; k++) {
        const size_t i = first + k;
        const void *const x = a->open && i == a->n - 1 ? a->open : a->source[i ? i + a->skip : 0];
        next[count++] = (const element *)x + at;
    }
    for (size_t q = 0; first == 0 && q < s->count; q++)
        next[count++] = (const element *)a->dh + (s->q0 + q) * a->vectors + at;
    for (size_t k = 0; s->first && k < s->k; k++)
        next[count++] = s->grad[k] + d;
    return count;
}

static void cross(const ar_attend_back *a, square *s, size_t from, const room *at) {
    const size_t d = a->width, strips = strips_of(d);
    float z[TILE][BATCH] = {{0}}, g[TILE][BATCH] = {{0}};
    const element *rows[2 * TILE + BATCH];
    ahead next = {.row = rows, .count = foresee(a, s, from, rows), .elements = d};
    s->x = at->x;
    s->dh = at->dh;
    s->part = at->part;
    products(s->k, s->count, strips, s->x, s->dh, s->pitch, g, &next);
    if (a->fixed) {
        given(a, s, from, (const float(*)[BATCH])g, at->dfixed);
    } else {
        products(s->k, s->count, strips, s->x, s->w, s->pitch, z, &next);
        differentiate(a, s, (const float(*)[BATCH])z, (const float(*)[BATCH])g);
    }
    sums(s, d, &next);
}

static void token(const ar_attend_back *a, size_t t, const room *at) {
    const size_t batches = (a->queries + BATCH - 1) / BATCH;
    square s;
    s.t = t;
    s.pitch = at->pitch;
    for (size_t i = 0; i < a->n; i += TILE) {
        open_sources(a, &s, i, at);
        for (size_t b = 0; b < batches; b++) {
            s.q0 = b * BATCH;
            s.count = a->queries - s.q0 < BATCH ? a->queries - s.q0 : BATCH;
            s.first = b == 0;
            s.last = b + 1 == batches;
            if (i == 0 || batches > 1) open_queries(a, &s, at);
            cross(a, &s, i, at);
        }
    }
}

/* dw of the token's own query, written as its gradient. */
static void close_own(const ar_attend_back *a, size_t t, const float *dw) {
    const size_t d = a->width;
    element *const down = (element *)a->down + t * d;
    size_t j = 0;
    for (; j + VL <= d; j += VL)
        vec_store(down + j, vec_get(dw + j, VL), VL);
    if (j < d) vec_store(down + j, vec_get(dw + j, d - j), d - j);
}

/* scratch: the sums of dw, in rows at the end and until then the queries; or those of given
 * weights; then dw, x, gradients so far, dh. */
void AR_SIMD(attend_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_attend_back *const a = args;
    const size_t d = a->width, stride = ar_row_stride(d), row = strips_of(d) * STRIP;
    const size_t queries = a->fixed ? 0 : ar_query_rows(a->queries);
    room at = {.query = scratch, .dfixed = scratch};
    at.pitch = a->queries < BATCH ? a->queries : BATCH;
    at.dw = scratch + (a->fixed ? (a->queries * a->n + 15) / 16 * 16 : queries * stride);
    at.x = at.dw + queries * stride;
    at.part = at.x + TILE * stride;
    at.dh = at.part + TILE * stride;
    if (a->fixed)
        memset(scratch, 0, a->queries * a->n * sizeof *scratch);
    else
        memset(at.dw, 0, queries * stride * sizeof *scratch);
    for (size_t q = 0; !a->own && !a->fixed && q < a->queries; q++)
        strips_put(d, a->query + q * d, at.query + q / BATCH * BATCH * row + q % BATCH * STRIP,
                   at.pitch);
    for (size_t t = first; t < last; t++) {
        if (a->own) {
            const element *const w = (const element *)a->own + t * d;
            float unused;
            strips_pack(1, d, &w, at.query, 1, &unused);
            memset(at.dw, 0, row * sizeof *at.dw);
        }
        token(a, t, &at);
        if (a->own) close_own(a, t, at.dw); /* one row's strips lie behind one another */
    }
    for (size_t q = 0; !a->own && !a->fixed && q < a->queries; q++)
        strips_get(d, at.dw + q / BATCH * BATCH * row + q % BATCH * STRIP, at.pitch,
                   scratch + q * stride);
}
