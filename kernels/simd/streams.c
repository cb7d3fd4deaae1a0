/* (m)HC, fused: in one pass the streams are looked at, mixed, stored and read out.
 *
 * Tokens go in tiles that stay in a second-level cache: a tile's streams are looked at, its
 * coefficients made together (a token a lane), then its streams are updated and read out
 * while those of the next tile are looked at. */

#include "streams.h"

enum {
    TILE_B = 262144,                /* of streams in a tile */
    AHEAD = 1024 / sizeof(element), /* lines are fetched so far ahead */
};

/* ---- update ---- */

/* A token: what is made of its streams. */
typedef struct {
    element *x[MOST];
    const element *v;  /* NULL: the streams stay */
    const float *next; /* the read-out's projection, or NULL */
    float write[MOST], mix[MOST][MOST];
} token;

/* Streams k: out_k = write_k v + sum of mix_jk x_j; their squares and products with next. */
INLINE void update_step(size_t j, size_t n, size_t m, bool updates, const token *t,
                        const float *next, vec *square, vec *product) {
    vec x[MOST], v = {0};
#pragma GCC unroll 8
    for (size_t i = 0; i < m; i++)
        x[i] = vec_load(t->x[i] + j, n);
    if (updates) {
        v = vec_load(t->v + j, n);
        fetch(t->v + AHEAD + j);
    }
    const vec w = vec_get(next + j, n);
#pragma GCC unroll 8
    for (size_t k = 0; k < m; k++) {
        vec s = x[k];
        if (updates) {
            s = v * vec_all(t->write[k]);
#pragma GCC unroll 8
            for (size_t i = 0; i < m; i++)
                s = vec_fma(x[i], vec_all(t->mix[i][k]), s);
            s = vec_rounded(s);
            vec_store(t->x[k] + j, s, n);
        }
        square[k] = vec_fma(s, s, square[k]);
        product[k] = vec_fma(s, w, product[k]);
    }
}

INLINE void update_of_m(size_t m, bool updates, size_t d, const token *t, const float *next,
                        float *square, float *product) {
    vec squares[MOST] = {{0}}, products[MOST] = {{0}};
    STRIPS(d, update_step, m, updates, t, next, squares, products);
    for (size_t k = 0; k < m; k++) {
        square[k] = vec_sum(squares[k]);
        product[k] = vec_sum(products[k]);
    }
}

INLINE void update_any(size_t m, bool updates, size_t d, const token *t, const float *next,
                       float *square, float *product) {
    switch (m) {
    case 2:
        update_of_m(2, updates, d, t, next, square, product);
        break;
    case 4:
        update_of_m(4, updates, d, t, next, square, product);
        break;
    case 8:
        update_of_m(8, updates, d, t, next, square, product);
        break;
    default:
        update_of_m(m, updates, d, t, next, square, product);
        break;
    }
}

/* ---- read-out ---- */

INLINE vec read_strip(size_t j, size_t n, size_t m, element *const *x, const float *read) {
    vec s = {0};
#pragma GCC unroll 8
    for (size_t i = 0; i < m; i++)
        s = vec_fma(vec_load(x[i] + j, n), vec_all(read[i]), s);
    return s;
}

INLINE void read_of_m(size_t m, size_t d, element *const *x, const float *read, element *h,
                      bool stream) {
    size_t j = 0;
    for (; j + 2 * VL <= d; j += 2 * VL)
        vec_write2(h + j, read_strip(j, VL, m, x, read), read_strip(j + VL, VL, m, x, read),
                   stream);
    for (; j + VL <= d; j += VL)
        vec_write(h + j, read_strip(j, VL, m, x, read), VL, stream);
    if (j < d) vec_write(h + j, read_strip(j, d - j, m, x, read), d - j, stream);
}

static void read_out(size_t m, size_t d, element *const *x, const float *read, element *h,
                     bool stream) {
    m == 4 ? read_of_m(4, d, x, read, h, stream) : read_of_m(m, d, x, read, h, stream);
}

/* ---- the pass ---- */

static void token_of(const ar_streams *a, size_t t, const stream_numbers *z, size_t lane,
                     token *out) {
    const size_t d = a->width, m = a->streams;
    for (size_t j = 0; j < m; j++)
        out->x[j] = (element *)a->stream[j] + t * d;
    out->v = a->v ? (const element *)a->v + t * d : NULL;
    for (size_t j = 0; a->v && j < m; j++) {
        out->write[j] = z->z[1][j][lane];
        for (size_t k = 0; k < m; k++)
            out->mix[j][k] = z->z[2 + k][j][lane];
    }
}

static void update(const ar_streams *a, const token *t, const float *next, float *read) {
    const size_t d = a->width, m = a->streams;
    float square[MOST], product[MOST];
    a->v ? update_any(m, true, d, t, next, square, product)
         : update_any(m, false, d, t, next, square, product);
    for (size_t j = 0; j < m; j++)
        read[j] = a->next ? product[j] * ar_row_rms_inverse(d, square[j]) : 1.0f;
}

void AR_SIMD(streams)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_streams *const a = args;
    const size_t d = a->width, m = a->streams;
    const bool stream = a->past_caches && a->h && vec_aligned(a->h, d);
    const stream_layer past = {m, d, a->past, a->past_bias, a->manifold};
    const stream_layer next = {m, d, a->next, a->next_bias, a->manifold};
    const size_t fits = TILE_B / (m * d * sizeof(element)), size = fits < 1       ? 1
                                                                   : fits < LANES ? fits
                                                                                  : LANES;
    stream_numbers both[2];
    memset(both, 0, sizeof both);
    memset(scratch, 0, d * sizeof *scratch); /* a projection where none is asked for */
    for (size_t k = 0; first + k * size < last + size; k++) {
        const size_t from = first + k * size;
        stream_numbers *const now = &both[k % 2], *const before = &both[(k + 1) % 2];
        for (size_t i = 0; i < size; i++) {
            token t;
            float read[MOST];
            const bool has = k > 0 && from - size + i < last;
            if (has) {
                token_of(a, from - size + i, before, i, &t);
                update(a, &t, a->next ? a->next : scratch, read);
            }
            if (a->v && from + i < last) look(&past, a->stream, from + i, 1, m + 1, i, now);
            if (has && a->h) {
                if (a->next) read_of(&next, read);
                read_out(m, d, t.x, read, (element *)a->h + (from - size + i) * d, stream);
            }
        }
        if (a->v) update_of(&past, now);
    }
    if (a->past_caches) vec_fence();
}
