/* (m)HC in one pass: a token's streams are updated with the coefficients that the pass before
 * left, multiplied with the next layer's projections, and read out. Unfused it makes coefficients
 * alone.
 *
 * Rows go by in chunks that stay in the first-level cache: a chunk of each stream is updated and
 * stored, then multiplied where it lies. All the while lines are fetched from ahead, so that
 * memory is at work behind the arithmetic; their times add up otherwise. */

#include "streams.h"

#include "products.h"

enum {
    CHUNK = 1024, /* elements */
    STRIPS_AT_ONCE = 2,
    /* Squares, then products c m + j of stream j and projection c. */
    SUMS = (MOST + 3) * MOST,
};

/* A token: what is made of its streams. */
typedef struct {
    element *x[MOST];
    const element *v;         /* NULL: the streams stay */
    const float *write, *mix; /* [m], [m][m] */
    float read[MOST];
    element *h;
} token;

/* ---- update ---- */

/* Streams k: out_k = write_k v + sum of mix_jk x_j; their squares and products with p. */
INLINE void update_block(size_t j, size_t n, size_t strips, size_t m, bool updates, const token *t,
                         const float *p, vec *square, vec *product) {
    vec x[MOST][STRIPS_AT_ONCE], v[STRIPS_AT_ONCE], w[STRIPS_AT_ONCE];
#pragma GCC unroll 2
    for (size_t c = 0; c < strips; c++) {
#pragma GCC unroll 8
        for (size_t i = 0; i < m; i++) {
            x[i][c] = vec_load(t->x[i] + j + c * VL, n);
            fetch(t->x[i] + j + c * VL + AHEAD);
        }
        if (updates) {
            v[c] = vec_load(t->v + j + c * VL, n);
            fetch(t->v + j + c * VL + AHEAD);
        }
        w[c] = vec_get(p + j + c * VL, n);
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < m; k++) {
        vec s[STRIPS_AT_ONCE];
#pragma GCC unroll 2
        for (size_t c = 0; c < strips; c++)
            s[c] = updates ? v[c] * vec_all(t->write[k]) : x[k][c];
        if (updates) {
#pragma GCC unroll 8
            for (size_t i = 0; i < m; i++) {
                const vec a = vec_all(t->mix[i * m + k]);
#pragma GCC unroll 2
                for (size_t c = 0; c < strips; c++)
                    s[c] = vec_fma(x[i][c], a, s[c]);
            }
        }
#pragma GCC unroll 2
        for (size_t c = 0; c < strips; c++) {
            if (updates) {
                s[c] = vec_rounded(s[c]);
                vec_store(t->x[k] + j + c * VL, s[c], n);
            }
            square[k] = vec_fma(s[c], s[c], square[k]);
            product[k] = vec_fma(s[c], w[c], product[k]);
        }
    }
}

INLINE void update_of_m(size_t m, bool updates, size_t from, size_t end, const token *in,
                        const float *p, vec *sum) {
    const vec none = {0};
    vec square[MOST], product[MOST];
    token copy, *const t = &copy; /* in registers */
    copy.v = in->v;
    copy.write = in->write;
    copy.mix = in->mix;
    for (size_t k = 0; k < m; k++) {
        copy.x[k] = in->x[k];
        square[k] = from ? sum[k] : none;
        product[k] = from ? sum[m + k] : none;
    }
    size_t j = from;
    for (; j + STRIPS_AT_ONCE * VL <= end; j += STRIPS_AT_ONCE * VL)
        update_block(j, VL, STRIPS_AT_ONCE, m, updates, t, p, square, product);
    for (; j + VL <= end; j += VL)
        update_block(j, VL, 1, m, updates, t, p, square, product);
    if (j < end) update_block(j, end - j, 1, m, updates, t, p, square, product);
    for (size_t k = 0; k < m; k++) {
        sum[k] = square[k];
        sum[m + k] = product[k];
    }
}

static void update(size_t m, size_t from, size_t end, const token *t, const float *p, vec *sum) {
    if (!t->v)
        update_of_m(m, false, from, end, t, p, sum);
    else if (m == 2)
        update_of_m(2, true, from, end, t, p, sum);
    else if (m == 4)
        update_of_m(4, true, from, end, t, p, sum);
    else if (m == 8)
        update_of_m(8, true, from, end, t, p, sum);
    else
        update_of_m(m, true, from, end, t, p, sum);
}

/* ---- products ---- */

/* sum[c m + j] += x_j . p_c over elements from..end, for `count` projections. The streams and
 * v are fetched from ahead. */
static void multiply(size_t m, size_t count, size_t from, size_t end, const token *t,
                     const float *p, size_t d, vec *sum) {
    const size_t n = end - from;
    const element *x[MOST], *const ahead = (t->v ? t->v : t->x[0]) + from + AHEAD;
    const void *with[MOST + 1];
    for (size_t j = 0; j < m; j++)
        x[j] = t->x[j] + from;
    for (size_t c = 0; c < count; c++)
        with[c] = p + c * d + from;
    if (m == 2) {
        product_tile(2, 3, false, 2, 3, m, n, x, with, ahead, from == 0, sum, (product_more){0});
        return;
    }
    for (size_t j = 0; j < m; j += PRODUCT_ROWS)
        for (size_t c = 0; c < count; c += OTHERS) {
            const size_t have = m - j < PRODUCT_ROWS ? m - j : PRODUCT_ROWS;
            const size_t want = count - c < OTHERS ? count - c : OTHERS;
            product_tile(PRODUCT_ROWS, OTHERS, false, have, want, m, n, x + j, with + c, ahead,
                         from == 0, sum + c * m + j, (product_more){0});
        }
}

/* ---- read-out ---- */

INLINE vec read_strip(size_t j, size_t n, size_t m, const token *t) {
    vec s = {0};
#pragma GCC unroll 8
    for (size_t i = 0; i < m; i++)
        s = vec_fma(vec_load(t->x[i] + j, n), vec_all(t->read[i]), s);
    return s;
}

INLINE void read_of_m(size_t m, size_t d, const token *in, bool stream) {
    token copy, *const t = &copy; /* in registers */
    copy.h = in->h;
    for (size_t i = 0; i < m; i++) {
        copy.x[i] = in->x[i];
        copy.read[i] = in->read[i];
    }
    size_t j = 0;
    for (; j + 2 * VL <= d; j += 2 * VL)
        vec_write2(t->h + j, read_strip(j, VL, m, t), read_strip(j + VL, VL, m, t), stream);
    for (; j + VL <= d; j += VL)
        vec_write(t->h + j, read_strip(j, VL, m, t), VL, stream);
    if (j < d) vec_write(t->h + j, read_strip(j, d - j, m, t), d - j, stream);
}

static void read_out(size_t m, size_t d, const token *t, bool stream) {
    m == 4 ? read_of_m(4, d, t, stream) : read_of_m(m, d, t, stream);
}

/* ---- the pass ---- */

static void token_of(const ar_streams *a, size_t t, token *out) {
    const size_t d = a->width, m = a->streams;
    const float *const numbers = a->numbers + t * (m + 2) * m;
    for (size_t j = 0; j < m; j++) {
        out->x[j] = (element *)a->stream[j] + t * d;
        out->read[j] = 1.0f;
    }
    out->v = a->v ? (const element *)a->v + t * d : NULL;
    out->write = numbers + m;
    out->mix = numbers + 2 * m;
    out->h = a->h ? (element *)a->h + t * d : NULL;
}

/* From sums to normalised products, in a lane, and to the token's read-out. */
static void close_token(const stream_layer *next, vec *sum, stream_numbers *z, size_t lane,
                        token *t) {
    const size_t m = next->m, count = (m + 3) * m;
    float sums[SUMS + VL];
    for (size_t i = 0; i < count; i += VL)
        vec_put(sums + i, vec_sums(sum + i), VL);
    for (size_t j = 0; j < m; j++) {
        const float norm = ar_row_rms_inverse(next->d, sums[j]);
        for (size_t c = 0; c < m + 2; c++)
            z->z[c][j][lane] = sums[(c + 1) * m + j] * norm;
        t->read[j] = z->z[0][j][lane];
    }
    read_of(next, t->read);
    for (size_t j = 0; j < m; j++)
        z->z[0][j][lane] = t->read[j];
}

/* Coefficients of `tokens` tokens from t on, for the pass to come. */
static void close_group(const ar_streams *a, const stream_layer *next, stream_numbers *z, size_t t,
                        size_t tokens) {
    const size_t m = a->streams;
    update_of(next, z);
    for (size_t i = 0; i < tokens; i++) {
        float *const out = a->numbers + (t + i) * (m + 2) * m;
        for (size_t j = 0; j < m; j++) {
            out[j] = z->z[0][j][i];
            out[m + j] = z->z[1][j][i];
            for (size_t k = 0; k < m; k++)
                out[2 * m + j * m + k] = z->z[2 + k][j][i];
        }
    }
}

void AR_SIMD(streams)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_streams *const a = args;
    const size_t d = a->width, m = a->streams;
    const bool stream = a->past_caches && a->h && vec_aligned(a->h, d);
    const stream_layer next = {m, d, a->next_bias, a->manifold};
    const float *const p = a->next ? a->next : scratch;
    stream_numbers z;
    vec sum[SUMS + VL];
    memset(&z, 0, sizeof z);
    memset(sum, 0, sizeof sum);
    memset(scratch, 0, d * sizeof *scratch); /* a projection where none is asked for */
    for (size_t t = first; t < last; t++) {
        const size_t lane = (t - first) % LANES;
        token now;
        token_of(a, t, &now);
        for (size_t j = 0; j < d; j += CHUNK) {
            const size_t end = d - j < CHUNK ? d : j + CHUNK;
            if (a->v || a->next) update(m, j, end, &now, p, sum);
            if (a->next) multiply(m, m + 1, j, end, &now, p + d, d, sum + 2 * m);
        }
        if (a->next) close_token(&next, sum, &z, lane, &now);
        if (a->h) read_out(m, d, &now, stream);
        if (a->next && (lane + 1 == LANES || t + 1 == last))
            close_group(a, &next, &z, t - lane, lane + 1);
    }
    if (a->past_caches) vec_fence();
}
