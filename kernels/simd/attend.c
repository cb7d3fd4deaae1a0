/* One query's attention over n sources, and sums of sources under given weights. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* Sources that are looked at and summed straight from where they lie. */
enum { FEW = 8 };

static element *row_of(const ar_attend *a, size_t i, size_t t) {
    return (element *)a->source[i ? i + a->skip : 0] + t * a->width;
}

/* ---- a few sources ---- */

/* A token's sources, and where their sum goes. */
typedef struct {
    element *x[FEW], *o;
    const element *v; /* added to the last source first */
    vec weight[FEW];
} few;

/* Logits of one token, while the token before it is summed: `strips` whole vectors, or a
 * part of one. Loads come before stores: rows of a page's length have the same low address
 * bits, by which a load is taken to depend on a store before it. */
INLINE void look_and_sum(size_t j, size_t n, size_t strips, size_t rows, bool looks, bool adds,
                         bool writes, bool stream, const few *now, const few *before,
                         const float *w, vec *square, vec *product) {
    vec s[2] = {{0}}, x = {0}, last[2] = {{0}};
#pragma GCC unroll 2
    for (size_t c = 0, at = j; c < strips; c++, at += VL) {
#pragma GCC unroll 8
        for (size_t i = 0; writes && i < rows; i++)
            s[c] = vec_fma(before->weight[i], vec_load(before->x[i] + at, n), s[c]);
#pragma GCC unroll 8
        for (size_t i = 0; looks && i < rows; i++) {
            x = vec_load(now->x[i] + at, n);
            fetch(now->x[i] + AHEAD + at);
            if (adds && i == rows - 1) {
                fetch(now->v + AHEAD + at);
                x = last[c] = vec_rounded(x + vec_load(now->v + at, n));
            }
            square[i] = vec_fma(x, x, square[i]);
            product[i] = vec_fma(x, vec_get(w + at, n), product[i]);
        }
    }
    for (size_t c = 0; looks && adds && c < strips; c++)
        vec_store(now->x[rows - 1] + j + c * VL, last[c], n);
    if (writes && strips == 2)
        vec_write2(before->o + j, s[0], s[1], stream);
    else if (writes)
        vec_write(before->o + j, s[0], n, stream);
}

/* The statistics of the one query, where they are asked for. */
static void leave(const ar_attend *a, size_t t, const parts *p) {
    if (!a->max) return;
    a->max[t] = p->max[0];
    a->sum[t] = p->sum[0];
}

/* The same from element j on, in any number of strips and rows: the first and the last token
 * of a pass, and what is left of others. */
static __attribute__((noinline)) void look_and_sum_rest(size_t j, size_t d, size_t rows, bool looks,
                                                        bool writes, bool stream, const few *now,
                                                        const few *before, const float *w,
                                                        vec *square, vec *product) {
    const bool adds = now->v != NULL;
    for (; j + 2 * VL <= d; j += 2 * VL)
        look_and_sum(j, VL, 2, rows, looks, adds, writes, stream, now, before, w, square, product);
    for (; j + VL <= d; j += VL)
        look_and_sum(j, VL, 1, rows, looks, adds, writes, stream, now, before, w, square, product);
    if (j < d)
        look_and_sum(j, d - j, 1, rows, looks, adds, writes, stream, now, before, w, square,
                     product);
}

/* From the sums to the weights of a token. */
static __attribute__((noinline)) void few_weigh(const ar_attend *a, size_t t, size_t rows,
                                                const vec *square, const vec *product, few *now) {
    float z[FEW][BATCH] = {{0}}, keep[BATCH];
    parts p = empty_parts();
    for (size_t i = 0; i < rows; i++) {
        const float norm =
            a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(a->width, vec_sum(square[i]));
        z[i][0] = vec_sum(product[i]) * norm;
    }
    weigh(rows, z, &p, keep, a->variant);
    leave(a, t, &p);
    for (size_t i = 0; i < rows; i++)
        now->weight[i] = vec_all(z[i][0]);
}

/* A token between others. */
INLINE void few_token(const ar_attend *a, size_t rows, bool stream, const few *next,
                      const few *last, vec *squares, vec *products) {
    const few now = *next, before = *last;
    const float *const w = a->query;
    const size_t d = a->width;
    const bool adds = now.v != NULL;
    vec square[FEW] = {{0}}, product[FEW] = {{0}};
    size_t j = 0;
    for (; j + 2 * VL <= d; j += 2 * VL)
        look_and_sum(j, VL, 2, rows, true, adds, true, stream, &now, &before, w, square, product);
    for (size_t i = 0; i < rows; i++) {
        squares[i] = square[i];
        products[i] = product[i];
    }
    look_and_sum_rest(j, d, rows, true, true, stream, next, last, w, squares, products);
}

INLINE void few_rows(const ar_attend *a, size_t rows, size_t first, size_t last, bool stream) {
    const size_t d = a->width;
    few both[2];
    memset(both, 0, sizeof both);
    for (size_t t = first; t < last; t++) {
        few *const now = &both[t % 2], *const before = &both[(t + 1) % 2];
        vec square[FEW] = {{0}}, product[FEW] = {{0}};
        for (size_t i = 0; i < rows; i++)
            now->x[i] = row_of(a, i, t);
        now->v = a->v ? (const element *)a->v + t * d : NULL;
        now->o = (element *)a->o + t * d;
        if (t > first)
            few_token(a, rows, stream, now, before, square, product);
        else
            look_and_sum_rest(0, d, rows, true, false, stream, now, now, a->query, square, product);
        few_weigh(a, t, rows, square, product, now);
    }
    few *const end = &both[(last + 1) % 2];
    look_and_sum_rest(0, d, rows, false, true, stream, end, end, a->query, NULL, NULL);
}

static void few_sources(const ar_attend *a, size_t first, size_t last, bool stream) {
    if (first == last) return;
#define ROWS_OF(n)                                                                                 \
    case n:                                                                                        \
        few_rows(a, n, first, last, stream);                                                       \
        break
    switch (a->n) {
        ROWS_OF(1);
        ROWS_OF(2);
        ROWS_OF(3);
        ROWS_OF(4);
        ROWS_OF(5);
        ROWS_OF(6);
        ROWS_OF(7);
        ROWS_OF(8);
    }
#undef ROWS_OF
}

/* ---- given weights ---- */

INLINE void fixed_step(size_t j, size_t n, size_t rows, element *const *x, const vec *weight,
                       const float *in, float *part, element *o, bool stream) {
    vec s = in ? vec_get(in + j, n) : (vec){0};
    for (size_t i = 0; i < rows; i++) {
        s = vec_fma(weight[i], vec_load(x[i] + j, n), s);
        fetch(x[i] + AHEAD + j);
    }
    if (part)
        vec_put(part + j, s, n);
    else
        vec_write(o + j, s, n, stream);
}

static void fixed_token(const ar_attend *a, size_t t, float *room, bool stream) {
    for (size_t from = 0; from < a->n; from += FEW) {
        const size_t rows = a->n - from < FEW ? a->n - from : FEW;
        const bool ends = from + rows == a->n;
        element *x[FEW], *const o = (element *)a->o + t * a->width;
        vec weight[FEW] = {{0}};
        for (size_t i = 0; i < rows; i++) {
            x[i] = row_of(a, from + i, t);
            weight[i] = vec_all(a->fixed[from + i]);
        }
        const float *const in = from ? room : NULL;
        float *const part = ends ? NULL : room;
        if (rows == FEW)
            STRIPS(a->width, fixed_step, FEW, x, weight, in, part, o, stream);
        else
            STRIPS(a->width, fixed_step, rows, x, weight, in, part, o, stream);
    }
}

/* ---- any number of sources ---- */

/* Rows of a tile as floats, the last with v added; norm = 1 / rms. */
static size_t tile_open(const ar_attend *a, size_t t, size_t first, float *room, const float **x,
                        const element **next, float *norm) {
    const size_t d = a->width, k = a->n - first < TILE ? a->n - first : TILE;
    const element *from[TILE];
    for (size_t i = 0; i < k; i++) {
        element *const p = row_of(a, first + i, t);
        if (a->v && first + i == a->n - 1) add_row(d, p, (const element *)a->v + t * d);
        from[i] = p;
        next[i] = p + d;
        x[i] = room + i * ar_row_stride(d);
    }
    pack(k, d, from, room, norm);
    for (size_t i = 0; i < k; i++)
        norm[i] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, norm[i]);
    return k;
}

static void many_token(const ar_attend *a, size_t t, float *room, const float *query, float *sum,
                       bool stream) {
    const size_t d = a->width;
    parts p = empty_parts();
    for (size_t first = 0; first < a->n; first += TILE) {
        const float *x[TILE];
        const element *next[TILE];
        float norm[TILE], z[TILE][BATCH] = {{0}}, keep[BATCH];
        const size_t k = tile_open(a, t, first, room, x, next, norm);
        dots(k, 1, d, x, query, 0, z, next);
        for (size_t i = 0; i < k; i++)
            z[i][0] *= norm[i];
        weigh(k, z, &p, keep, a->variant);
        const mix_ends e = {.in = first ? sum : NULL,
                            .keep = keep[0],
                            .part = first + k == a->n ? NULL : sum,
                            .out = (element *)a->o + t * d,
                            .stream = stream};
        mix(k, d, x, (const float(*)[BATCH])z, &e, sum);
    }
    leave(a, t, &p);
}

/* scratch: TILE rows, the sums between tiles, a token's own query. */
void AR_SIMD(attend)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_attend *const a = args;
    const size_t d = a->width, stride = ar_row_stride(d);
    const bool stream = a->stream && vec_aligned(a->o, d);
    float *const sum = scratch + TILE * stride, *const own = sum + stride;
    if (!a->fixed && !a->own && a->n <= FEW) {
        few_sources(a, first, last, stream);
    } else {
        for (size_t t = first; t < last; t++) {
            const element *const w = a->own ? (const element *)a->own + t * d : NULL;
            if (w) pack(1, d, &w, own, (float[1]){0});
            if (a->fixed)
                fixed_token(a, t, scratch, stream);
            else
                many_token(a, t, scratch, w ? own : a->query, sum, stream);
        }
    }
    if (a->stream) vec_fence();
}
