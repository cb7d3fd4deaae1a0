#ifndef AR_TILE_H
#define AR_TILE_H

/* Register tiles over one token: dot products of rows with queries, and weighted sums
 * of rows. A result has the same bits in whatever company it is computed: each dot
 * product has one accumulator, each sum goes over the rows in order. */

#include "tile_size.h"
#include "vec.h"

/* Rows x queries of a dot product's registers: VL accumulators. */
enum { QUERIES = 4, ROWS = VL / QUERIES };

#define STRIPS(d, step, ...)                                                                       \
    do {                                                                                           \
        size_t strip_ = 0;                                                                         \
        for (; strip_ + VL <= (d); strip_ += VL)                                                   \
            step(strip_, VL, __VA_ARGS__);                                                         \
        if (strip_ < (d)) step(strip_, (d)-strip_, __VA_ARGS__);                                   \
    } while (0)

/* z[r][q] = x[r] . y[q] for `rows` <= ROWS and `queries` <= QUERIES, literals. The
 * lines of ahead[0..lines) are fetched on the way. */
INLINE void dots_step(size_t j, size_t n, size_t rows, size_t queries, const float *const *x,
                      const float *const *y, vec *sum, const element *const *ahead, size_t lines) {
    vec w[QUERIES];
#pragma GCC unroll 4
    for (size_t q = 0; q < queries; q++)
        w[q] = vec_get(y[q] + j, n);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        const vec a = vec_get(x[r] + j, n);
#pragma GCC unroll 4
        for (size_t q = 0; q < queries; q++)
            sum[r * QUERIES + q] = vec_fma(a, w[q], sum[r * QUERIES + q]);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < lines; i++)
        fetch(ahead[i] + j);
}

INLINE void dots_of(size_t rows, size_t queries, size_t d, const float *const *from,
                    const float *const *with, float (*z)[BATCH], const element *const *next) {
    const size_t lines = queries == 1 ? rows : 1;
    const float *x[ROWS], *y[QUERIES];
    const element *ahead[ROWS];
    vec sum[VL] = {{0}};
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        x[r] = from[r];
#pragma GCC unroll 4
    for (size_t q = 0; q < queries; q++)
        y[q] = with[q];
#pragma GCC unroll 4
    for (size_t i = 0; i < lines; i++)
        ahead[i] = next[i];
    STRIPS(d, dots_step, rows, queries, x, y, sum, ahead, lines);
    const vec sums = vec_sums(sum);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t q = 0; q < queries; q++)
            z[r][q] = sums[r * QUERIES + q];
}

/* The same with rows known at run time. */
INLINE void dots_any(size_t rows, size_t queries, size_t d, const float *const *x,
                     const float *const *y, float (*z)[BATCH], const element *const *next) {
    if (ROWS == 4 && rows == 4)
        dots_of(ROWS < 4 ? ROWS : 4, queries, d, x, y, z, next);
    else if (ROWS == 4 && rows == 3)
        dots_of(ROWS < 3 ? ROWS : 3, queries, d, x, y, z, next);
    else if (ROWS >= 2 && rows == 2)
        dots_of(ROWS < 2 ? ROWS : 2, queries, d, x, y, z, next);
    else
        dots_of(1, queries, d, x, y, z, next);
}

/* z[i][q] = x[i] . w[q] for k rows and `queries` <= BATCH queries a stride apart; a line of
 * next[0..k) is fetched on the way. */
static inline void dots(size_t k, size_t queries, size_t d, const float *const *x, const float *w,
                        size_t stride, float (*z)[BATCH], const element *const *next) {
    size_t seen = 0;
    for (size_t q = 0; q < queries;) {
        const size_t some = queries - q < QUERIES ? 1 : QUERIES;
        const float *const y[QUERIES] = {w + q * stride, w + (q + 1) * stride, w + (q + 2) * stride,
                                         w + (q + 3) * stride};
        for (size_t i = 0; i < k; i += ROWS, seen++) {
            const size_t rows = k - i < ROWS ? k - i : ROWS;
            float(*const out)[BATCH] = (float(*)[BATCH])(&z[i][q]);
            if (some == QUERIES)
                dots_any(rows, QUERIES, d, x + i, y, out, next + (seen < k ? seen : k - 1));
            else
                dots_any(rows, 1, d, x + i, y, out, next + i);
        }
        q += some;
    }
}

/* Rows to floats in room, with their squares. */
INLINE void pack_step(size_t j, size_t n, size_t rows, const element *const *x, float *room,
                      size_t stride, vec *sum) {
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        const vec a = vec_load(x[r] + j, n);
        vec_put(room + r * stride + j, a, n);
        sum[r] = vec_fma(a, a, sum[r]);
    }
}

INLINE void pack_of(size_t rows, size_t d, const element *const *from, float *room,
                    float *squares) {
    const size_t stride = ar_row_stride(d);
    const element *x[4];
    vec sum[VL] = {{0}};
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        x[r] = from[r];
    STRIPS(d, pack_step, rows, x, room, stride, sum);
    const vec sums = vec_sums(sum);
    for (size_t r = 0; r < rows; r++)
        squares[r] = sums[r];
}

/* Copy k rows as floats to room, a stride apart; squares[i] = x[i] . x[i]. */
static inline void pack(size_t k, size_t d, const element *const *x, float *room, float *squares) {
    size_t i = 0;
    for (; i + 4 <= k; i += 4)
        pack_of(4, d, x + i, room + i * ar_row_stride(d), squares + i);
    for (; i < k; i++)
        pack_of(1, d, x + i, room + i * ar_row_stride(d), squares + i);
}

/* Rows whose weights stay in registers. */
enum { MIX_ROWS = VL == 16 ? 8 : 4 };

/* Where a sum comes from and goes to. */
typedef struct {
    const float *in; /* NULL: 0 */
    float keep;
    float *part;  /* where not NULL, */
    element *out; /* else here */
    bool stream;
} mix_ends;

INLINE void mix_step(size_t j, size_t n, size_t rows, const float *const *x, const vec *w,
                     const mix_ends *e) {
    const vec none = {0};
    vec s = e->in ? vec_get(e->in + j, n) * e->keep : none;
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
        s = vec_fma(w[r], vec_get(x[r] + j, n), s);
    if (e->part)
        vec_put(e->part + j, s, n);
    else
        vec_write(e->out + j, s, n, e->stream);
}

INLINE void mix_of(size_t rows, size_t d, const float *const *from, const float (*z)[BATCH],
                   const mix_ends *ends) {
    const mix_ends e = *ends;
    const float *x[8];
    vec w[8];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        x[r] = from[r];
        w[r] = vec_all(z[r][0]);
    }
    STRIPS(d, mix_step, rows, x, w, &e);
}

INLINE void mix_any(size_t rows, size_t d, const float *const *x, const float (*z)[BATCH],
                    const mix_ends *e) {
    switch (rows) {
    case 1:
        mix_of(1, d, x, z, e);
        break;
    case 2:
        mix_of(2, d, x, z, e);
        break;
    case 3:
        mix_of(3, d, x, z, e);
        break;
    case 4:
        mix_of(4, d, x, z, e);
        break;
    case 5:
        mix_of(5, d, x, z, e);
        break;
    case 6:
        mix_of(6, d, x, z, e);
        break;
    case 7:
        mix_of(7, d, x, z, e);
        break;
    default:
        mix_of(8, d, x, z, e);
        break;
    }
}

/* The sum of k rows under weights z[i][0], going from ends->in to ends->out, or ends->part if not
 * the last; `room` holds what lies between. */
static inline void mix(size_t k, size_t d, const float *const *x, const float (*z)[BATCH],
                       const mix_ends *ends, float *room) {
    mix_ends e = *ends;
    for (size_t i = 0; i < k; i += MIX_ROWS) {
        const size_t rows = k - i < MIX_ROWS ? k - i : MIX_ROWS;
        e.part = i + rows == k ? ends->part : room;
        mix_any(rows, d, x + i, z + i, &e);
        e.in = room;
        e.keep = 1.0f;
    }
}

#endif
