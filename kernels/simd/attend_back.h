#ifndef AR_ATTEND_BACK_H
#define AR_ATTEND_BACK_H

/* Rows of sources against queries, in the backward of attention: a look at each dh, then the
 * rest (attend_back.c). */

#include "../back_pass.h"
#include "tile.h"

/* Rows against `count` queries from q0: row k sources + i is source i of token t + k. */
typedef struct {
    size_t t, tokens, sources, rows, q0, count;
    const float *x, *w; /* a stride apart; w NULL: given weights */
    float *dx, *dw;     /* dx: the gradients so far */
    const element *from[UNIT];
    element *grad[UNIT];
    bool first, last;            /* batch of queries */
    float norm[UNIT], own[UNIT]; /* own[i]: the weight of x_i in its own gradient */
    /* weights; z = x.w, then dz r; g = x.dh */
    float p[UNIT][BATCH], c[UNIT][BATCH], g[UNIT][BATCH];
} unit;

/* ---- a look at each dh: g = x.dh, and dx = p dh ---- */

/* Columns that are looked at together: UNIT rows, their gradients and dh stay in the first-level
 * cache. */
enum { COLUMNS = 512 };

/* Where a look is: rows from i, queries from q, a block of columns; the rows of dh there, and
 * those that come next. */
typedef struct {
    size_t i, q, from, columns, stride;
    const element *dh[QUERIES], *next[QUERIES];
} place;

INLINE void look_step(size_t j, size_t n, size_t rows, size_t queries, bool fresh,
                      const float *const *x, float *const *dx, const place *at,
                      const float (*p)[BATCH], vec *sum) {
    const vec none = {0};
    vec a[ROWS], s[ROWS];
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        a[r] = vec_get(x[r] + j, n);
        s[r] = fresh ? none : vec_get(dx[r] + j, n);
    }
#pragma GCC unroll 4
    for (size_t q = 0; q < queries; q++) {
        const vec g = vec_load(at->dh[q] + j, n);
        fetch(at->next[q] + j);
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++) {
            sum[r * QUERIES + q] = vec_fma(a[r], g, sum[r * QUERIES + q]);
            s[r] = vec_fma(vec_all(p[r][q]), g, s[r]);
        }
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        vec_put(dx[r] + j, s[r], n);
}

INLINE void look_of(size_t rows, size_t queries, bool fresh, unit *u, const place *where) {
    const place at = *where;
    const float *x[ROWS];
    float *dx[ROWS];
    vec sum[VL] = {{0}};
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        x[r] = u->x + (at.i + r) * at.stride + at.from;
        dx[r] = u->dx + (at.i + r) * at.stride + at.from;
    }
    STRIPS(at.columns, look_step, rows, queries, fresh, x, dx, &at,
           (const float(*)[BATCH])(const void *)&u->p[at.i][at.q], sum);
    const vec sums = vec_sums(sum);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t q = 0; q < queries; q++)
            u->g[at.i + r][at.q + q] += sums[r * QUERIES + q];
}

/* The same with rows and `fresh` known at run time. */
INLINE void look_any(size_t rows, size_t queries, bool fresh, unit *u, const place *at) {
#define LOOK(rows)                                                                                 \
    fresh ? look_of(rows, queries, true, u, at) : look_of(rows, queries, false, u, at)
    if (ROWS == 4 && rows == 4)
        LOOK(ROWS < 4 ? ROWS : 4);
    else if (ROWS == 4 && rows == 3)
        LOOK(ROWS < 3 ? ROWS : 3);
    else if (ROWS >= 2 && rows == 2)
        LOOK(ROWS < 2 ? ROWS : 2);
    else
        LOOK(1);
#undef LOOK
}

static inline const element *dh_of(const ar_attend_back *a, const unit *u, size_t token, size_t q) {
    return (const element *)a->dh + (u->q0 + q) * a->vectors + (u->t + token) * a->width;
}

/* Of one token. What is fetched on the way is what this loop comes to next. */
static void look(const ar_attend_back *a, unit *u, size_t token) {
    const size_t d = a->width, first = token * u->sources, end = first + u->sources;
    place at = {.stride = ar_row_stride(d)};
    for (at.from = 0; at.from < d; at.from += COLUMNS) {
        const bool more = at.from + COLUMNS < d;
        const size_t then = more ? token : token + 1, there = more ? at.from + COLUMNS : 0;
        at.columns = more ? COLUMNS : d - at.from;
        for (at.q = 0; at.q < u->count;) {
            const size_t some = u->count - at.q < QUERIES ? 1 : QUERIES, q = at.q + some;
            for (size_t k = 0; k < some; k++) {
                at.dh[k] = dh_of(a, u, token, at.q + k) + at.from;
                at.next[k] = q + k < u->count ? dh_of(a, u, token, q + k) + at.from
                                              : dh_of(a, u, then, k) + there;
            }
            for (at.i = first; at.i < end; at.i += ROWS) {
                const size_t rows = end - at.i < ROWS ? end - at.i : ROWS;
                if (some == QUERIES)
                    look_any(rows, QUERIES, u->first && at.q == 0, u, &at);
                else
                    look_any(rows, 1, u->first && at.q == 0, u, &at);
            }
            at.q = q;
        }
    }
}

/* ---- the rest: dx += own x + c w, dw += c x ---- */

/* Rows whose gradients stay in registers. */
enum { OUTPUTS = VL == 16 ? 8 : 4 };

/* Fetched on the way: gradients ahead, and the rows of the unit after this one. */
INLINE void rest_step(size_t j, size_t n, size_t rows, const unit *u, size_t i, size_t d) {
    const size_t stride = ar_row_stride(d), queries = u->w ? u->count : 0;
    vec x[OUTPUTS], s[OUTPUTS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        const size_t at = (i + r) * stride + j;
        x[r] = vec_get(u->x + at, n);
        s[r] = vec_fma(vec_all(u->own[i + r]), x[r], vec_get(u->dx + at, n));
        fetch(u->grad[i + r] + j + AHEAD);
        fetch(u->from[i + r] + u->tokens * d + j);
    }
    for (size_t q = 0; q < queries; q++) {
        const vec w = vec_get(u->w + q * stride + j, n);
        float *const dw = u->dw + q * stride + j;
        vec sum = vec_get(dw, n);
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            const vec c = vec_all(u->c[i + r][q]);
            s[r] = vec_fma(c, w, s[r]);
            sum = vec_fma(c, x[r], sum);
        }
        vec_put(dw, sum, n);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
        if (u->last)
            vec_store(u->grad[i + r] + j, vec_load(u->grad[i + r] + j, n) + s[r], n);
        else
            vec_put(u->dx + (i + r) * stride + j, s[r], n);
}

static void rest(const unit *u, size_t d) {
    size_t i = 0;
    for (; i + OUTPUTS <= u->rows; i += OUTPUTS)
        STRIPS(d, rest_step, OUTPUTS, u, i, d);
    if (OUTPUTS == 8 && i + 4 <= u->rows) {
        STRIPS(d, rest_step, 4, u, i, d);
        i += 4;
    }
    if (i + 2 <= u->rows) {
        STRIPS(d, rest_step, 2, u, i, d);
        i += 2;
    }
    if (i < u->rows) STRIPS(d, rest_step, 1, u, i, d);
}

#endif
