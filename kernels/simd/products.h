#ifndef AR_PRODUCTS_H
#define AR_PRODUCTS_H

/* Products of stored rows with other rows, in register tiles. */

#include "tile.h"

enum {
    PRODUCT_ROWS = VL == 16 ? 4 : 2, /* of a tile, and */
    OTHERS = 5,                      /* rows that they are multiplied with */
};

/* What else a tile makes: the squares of its rows, and the others' products with a row v. */
typedef struct {
    vec *square;      /* [have], from 0; NULL: none */
    const element *v; /* NULL: none, and */
    vec *with_v;      /* [want], from 0 */
} product_more;

/* stored: the others are elements, else floats. Both are fetched from ahead, and `ahead`. */
INLINE void product_step(size_t j, size_t n, size_t rows, size_t others, bool stored, bool squares,
                         const element *const *x, const void *const *with, const element *row,
                         const element *ahead, vec *sum, vec *square, vec *with_v) {
    vec v[PRODUCT_ROWS], y = {0};
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        v[r] = vec_load(x[r] + j, n);
        fetch(x[r] + j + AHEAD);
        if (squares) square[r] = vec_fma(v[r], v[r], square[r]);
    }
    if (ahead) fetch(ahead + j);
    if (row) {
        y = vec_load(row + j, n);
        fetch(row + j + AHEAD);
    }
#pragma GCC unroll 5
    for (size_t c = 0; c < others; c++) {
        const vec w = stored ? vec_load((const element *)with[c] + j, n)
                             : vec_get((const float *)with[c] + j, n);
        if (stored) fetch((const element *)with[c] + j + AHEAD);
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++)
            sum[c * rows + r] = vec_fma(v[r], w, sum[c * rows + r]);
        if (row) with_v[c] = vec_fma(w, y, with_v[c]);
    }
}

/* sum[c m + r] += x_r . with_c, over n elements, for `have` rows and `want` others of a tile, the
 * last of which stands in for more; fresh: from 0. ahead: NULL or a row to fetch. */
INLINE void product_tile(size_t rows, size_t others, bool stored, size_t have, size_t want,
                         size_t m, size_t n, const element *const *from, const void *const *with,
                         const element *ahead, bool fresh, vec *sum, product_more more) {
    const element *x[PRODUCT_ROWS];
    const void *w[OTHERS];
    const vec none = {0};
    vec s[PRODUCT_ROWS * OTHERS], square[PRODUCT_ROWS], with_v[OTHERS];
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        x[r] = from[r < have ? r : have - 1];
        square[r] = none;
    }
#pragma GCC unroll 5
    for (size_t c = 0; c < others; c++) {
        w[c] = with[c < want ? c : want - 1];
        with_v[c] = none;
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++)
            s[c * rows + r] =
                fresh ? none : sum[(c < want ? c : want - 1) * m + (r < have ? r : have - 1)];
    }
    if (more.square)
        STRIPS(n, product_step, rows, others, stored, true, x, w, NULL, ahead, s, square, with_v);
    else if (more.v)
        STRIPS(n, product_step, rows, others, stored, false, x, w, more.v, ahead, s, square,
               with_v);
    else
        STRIPS(n, product_step, rows, others, stored, false, x, w, NULL, ahead, s, square, with_v);
#pragma GCC unroll 5
    for (size_t c = 0; c < others; c++) {
        if (more.v && c < want) more.with_v[c] = with_v[c];
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++) {
            if (c < want && r < have) sum[c * m + r] = s[c * rows + r];
            if (more.square && r < have) more.square[r] = square[r];
        }
    }
}

#endif
