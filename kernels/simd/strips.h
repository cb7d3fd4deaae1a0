#ifndef AR_STRIPS_H
#define AR_STRIPS_H

/* Rows of floats cut in strips of two vectors: strip s of row r of `pitch` rows lies at
 * (s pitch + r) STRIP, so that products of many rows read memory from front to back. Columns
 * beyond d are 0. A set of so many rows of d needs no more than as many ar_row_stride(d). */

#include "tile.h"

enum { STRIP = 2 * VL };

INLINE size_t strips_of(size_t d) {
    return (d + STRIP - 1) / STRIP;
}

/* Lines that are fetched one by one between other work: those of rows that are needed soon. */
typedef struct {
    const element *const *row;
    size_t count, elements; /* rows; elements of each */
    const element *at, *end;
} ahead;

INLINE void ahead_fetch(ahead *a) {
    if (a->at >= a->end) {
        if (a->count == 0) return;
        a->at = *a->row;
        a->end = a->at + a->elements;
        a->row++;
        a->count--;
    }
    fetch(a->at);
    a->at += 64 / sizeof(element);
}

/* ---- in and out ---- */

/* Elements of the second vector and of the first, of the strip at column j. */
INLINE size_t second_of(size_t d, size_t j) {
    return d - j > VL ? (d - j < STRIP ? d - j - VL : VL) : 0;
}
INLINE size_t first_of(size_t d, size_t j) {
    return d - j < VL ? d - j : VL;
}

INLINE void strips_pack_of(size_t rows, size_t d, const element *const *from, float *to,
                           size_t pitch, float *squares) {
    const element *x[4];
    vec sum[VL] = {{0}};
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        x[r] = from[r];
    size_t j = 0;
    for (; j + STRIP <= d; j += STRIP, to += pitch * STRIP)
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++) {
            const vec a = vec_load(x[r] + j, VL), b = vec_load(x[r] + j + VL, VL);
            vec_put(to + r * STRIP, a, VL);
            vec_put(to + r * STRIP + VL, b, VL);
            sum[r] = vec_fma(b, b, vec_fma(a, a, sum[r]));
        }
    for (size_t r = 0; j < d && r < rows; r++) {
        const vec a = vec_load(x[r] + j, first_of(d, j));
        const vec b = second_of(d, j) ? vec_load(x[r] + j + VL, second_of(d, j)) : (vec){0};
        vec_put(to + r * STRIP, a, VL);
        vec_put(to + r * STRIP + VL, b, VL);
        sum[r] = vec_fma(b, b, vec_fma(a, a, sum[r]));
    }
    const vec sums = vec_sums(sum);
    for (size_t r = 0; r < rows; r++)
        squares[r] = sums[r];
}

/* k rows x, the first of `pitch`, into strips; squares[i] = x[i] . x[i]. */
static inline void strips_pack(size_t k, size_t d, const element *const *x, float *to, size_t pitch,
                               float *squares) {
    size_t i = 0;
    for (; i + 4 <= k; i += 4)
        strips_pack_of(4, d, x + i, to + i * STRIP, pitch, squares + i);
    for (; i < k; i++)
        strips_pack_of(1, d, x + i, to + i * STRIP, pitch, squares + i);
}

/* The same from a row of floats, and back to one. */
static inline void strips_put(size_t d, const float *row, float *to, size_t pitch) {
    for (size_t j = 0; j < d; j += STRIP, to += pitch * STRIP)
        for (size_t c = 0; c < STRIP; c++)
            to[c] = j + c < d ? row[j + c] : 0.0f;
}
static inline void strips_get(size_t d, const float *from, size_t pitch, float *row) {
    for (size_t j = 0; j < d; j += STRIP, from += pitch * STRIP)
        memcpy(row + j, from, (d - j < STRIP ? d - j : STRIP) * sizeof *row);
}

/* ---- products of rows with rows ---- */

INLINE void products_of(size_t rows, size_t queries, size_t strips, const float *x, size_t pitch,
                        const float *y, size_t y_pitch, float (*z)[BATCH], ahead *next) {
    vec sum[VL] = {{0}};
    ahead here = *next; /* in registers */
    for (size_t s = 0; s < strips; s++, x += pitch * STRIP, y += y_pitch * STRIP) {
#pragma GCC unroll 2
        for (size_t c = 0; c < STRIP; c += VL) {
            vec w[QUERIES];
#pragma GCC unroll 4
            for (size_t q = 0; q < queries; q++)
                w[q] = vec_get(y + q * STRIP + c, VL);
#pragma GCC unroll 4
            for (size_t r = 0; r < rows; r++) {
                const vec a = vec_get(x + r * STRIP + c, VL);
#pragma GCC unroll 4
                for (size_t q = 0; q < queries; q++)
                    sum[r * QUERIES + q] = vec_fma(a, w[q], sum[r * QUERIES + q]);
            }
            ahead_fetch(&here);
        }
    }
    *next = here;
    const vec sums = vec_sums(sum);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t q = 0; q < queries; q++)
            z[r][q] = sums[r * QUERIES + q];
}

INLINE void products_any(size_t rows, size_t queries, size_t strips, const float *x, size_t pitch,
                         const float *y, size_t y_pitch, float (*z)[BATCH], ahead *next) {
    if (ROWS == 4 && rows == 4)
        products_of(ROWS < 4 ? ROWS : 4, queries, strips, x, pitch, y, y_pitch, z, next);
    else if (ROWS == 4 && rows == 3)
        products_of(ROWS < 3 ? ROWS : 3, queries, strips, x, pitch, y, y_pitch, z, next);
    else if (ROWS >= 2 && rows == 2)
        products_of(ROWS < 2 ? ROWS : 2, queries, strips, x, pitch, y, y_pitch, z, next);
    else
        products_of(1, queries, strips, x, pitch, y, y_pitch, z, next);
}

/* z[i][q] = x_i . y_q for k rows of x, as many as its pitch, and `queries` rows of y. */
static inline void products(size_t k, size_t queries, size_t strips, const float *x, const float *y,
                            size_t y_pitch, float (*z)[BATCH], ahead *next) {
    for (size_t q = 0; q < queries;) {
        const bool four = q + QUERIES <= queries;
        for (size_t i = 0; i < k; i += ROWS) {
            const size_t rows = k - i < ROWS ? k - i : ROWS;
            float(*const to)[BATCH] = (float(*)[BATCH])(&z[i][q]);
            if (four)
                products_any(rows, QUERIES, strips, x + i * STRIP, k, y + q * STRIP, y_pitch, to,
                             next);
            else
                products_any(rows, 1, strips, x + i * STRIP, k, y + q * STRIP, y_pitch, to, next);
        }
        q += four ? QUERIES : 1;
    }
}

/* ---- sums of rows ---- */

/* Outputs of a register tile, of a strip each. */
enum { OUTPUTS = VL == 16 ? 8 : 4 };

/* sum[o] += sum over k of weight[k][o] row_k, in one strip. */
INLINE void add_terms(size_t outputs, size_t terms, const float *row, const float (*weight)[BATCH],
                      vec (*sum)[2], ahead *next) {
    for (size_t k = 0; k < terms; k++, row += STRIP) {
        const vec a = vec_get(row, VL), b = vec_get(row + VL, VL);
        ahead_fetch(next);
#pragma GCC unroll 8
        for (size_t o = 0; o < outputs; o++) {
            const vec w = vec_all(weight[k][o]);
            sum[o][0] = vec_fma(w, a, sum[o][0]);
            sum[o][1] = vec_fma(w, b, sum[o][1]);
        }
    }
}

#endif
