/* Backward of (m)HC. With x_j the streams that the layer read, G_k the gradients of those that
 * it left, z_jc = r_j x_j . p_c and coefficients read, write, mix of z + b:
 *     dread_j = dh . x_j,  dwrite_k = G_k . v,  dmix_jk = x_j . G_k,  dz through what made them,
 *     dx_j = sum_k mix_jk G_k + read_j dh + sum_c dz_jc (r_j p_c - z_jc r_j^2 x_j / d),
 *     dp_c += sum_j dz_jc r_j x_j,   dv = sum_k write_k G_k.
 * Some tokens at a time, which stay in the second-level cache: the products of all, their
 * coefficients, a token a lane, and then the sums. */

#include "streams_back.h"
#include "../back_pass.h"
#include "products.h"

/* Bytes of rows that the tokens of a turn may have. */
enum { ROOM = 512 * 1024 };

/* Tokens of a turn: products, the coefficients made of them, gradients; 1 / rms; of the next
 * layer the write. */
typedef struct {
    stream_numbers z, value, g;
    float r[MOST][LANES], write[MOST][LANES];
} turn;

typedef struct {
    const element *x[MOST], *next[MOST], *v, *dh;
    element *grad[MOST], *dv;
} token;

static void token_of(const ar_streams_back *a, size_t t, token *k) {
    const size_t at = t * a->width;
    for (size_t j = 0; j < a->streams; j++) {
        k->grad[j] = (element *)a->grad[j] + at;
        if (a->v) k->x[j] = (const element *)a->past[j] + at;
        if (a->dv) k->next[j] = (const element *)a->next[j] + at;
    }
    if (a->v) {
        k->v = (const element *)a->v + at;
        k->dh = (const element *)a->dh + at;
    }
    if (a->dv) k->dv = (element *)a->dv + at;
}

/* ---- products ---- */

/* sum[c m + j] = x_j . y_c, y of `others` rows; and, where not NULL, square[j] = x_j . x_j and
 * with_v[c] = y_c . v. */
INLINE void products(size_t m, size_t others, bool stored, size_t d, const element *const *x,
                     const void *const *y, vec *sum, vec *square, const element *v, vec *with_v) {
    const size_t turns = (others + OTHERS - 1) / OTHERS, each = (others + turns - 1) / turns;
    for (size_t j = 0; j < m; j += PRODUCT_ROWS)
        for (size_t c = 0; c < others; c += each) {
            const size_t have = m - j < PRODUCT_ROWS ? m - j : PRODUCT_ROWS;
            const size_t want = others - c < each ? others - c : each;
            const product_more more = {c == 0 && square ? square + j : NULL, j == 0 ? v : NULL,
                                       with_v ? with_v + c : NULL};
            vec *const to = sum + c * m + j;
            if (want == 1)
                product_tile(PRODUCT_ROWS, 1, stored, have, want, m, d, x + j, y + c, NULL, true,
                             to, more);
            else if (want <= 3)
                product_tile(PRODUCT_ROWS, 3, stored, have, want, m, d, x + j, y + c, NULL, true,
                             to, more);
            else
                product_tile(PRODUCT_ROWS, OTHERS, stored, have, want, m, d, x + j, y + c, NULL,
                             true, to, more);
        }
}

/* Of a token: squares, z, dh.v and G.v, then x.dh and x.G; squares and z of the next layer's
 * write. */
enum { SUMS = (2 * MOST + 7) * MOST + 1 };

static void look(const ar_streams_back *a, const token *k, turn *all, size_t lane) {
    const size_t m = a->streams, d = a->width;
    const size_t at_z = m, at_v = at_z + (m + 2) * m, at_x = at_v + m + 1;
    const size_t at_next = at_x + (m + 1) * m, count = at_next + 2 * m;
    const void *y[MOST + 2];
    vec sum[SUMS + VL];
    float s[SUMS + VL];
    memset(sum, 0, (count + VL) * sizeof *sum);
    if (a->v) {
        for (size_t c = 0; c < m + 2; c++)
            y[c] = a->past_p + c * d;
        products(m, m + 2, false, d, k->x, y, sum + at_z, sum, NULL, NULL);
        y[0] = k->dh;
        for (size_t j = 0; j < m; j++)
            y[1 + j] = k->grad[j];
        products(m, m + 1, true, d, k->x, y, sum + at_x, NULL, k->v, sum + at_v);
    }
    if (a->dv) {
        y[0] = a->next_p + d;
        products(m, 1, false, d, k->next, y, sum + at_next + m, sum + at_next, NULL, NULL);
    }
    for (size_t i = 0; i < count; i += VL)
        vec_put(s + i, vec_sums(sum + i), VL);
    for (size_t j = 0; j < m; j++) {
        const float r = ar_row_rms_inverse(d, s[j]), next = ar_row_rms_inverse(d, s[at_next + j]);
        all->r[j][lane] = r;
        all->write[j][lane] = s[at_next + m + j] * next;
        for (size_t c = 0; c < m + 2; c++)
            all->z.z[c][j][lane] = s[at_z + c * m + j] * r;
        all->g.z[0][j][lane] = s[at_x + j];
        all->g.z[1][j][lane] = s[at_v + 1 + j];
        for (size_t c = 0; c < m; c++)
            all->g.z[2 + c][j][lane] = s[at_x + (1 + c) * m + j];
    }
}

/* ---- sums ---- */

/* Weights of the sums: stream j takes mix[k m + j] G_k, read[j] dh, p[c m + j] p_c, own[j] x_j. */
typedef struct {
    float mix[MOST * MOST], read[MOST], p[(MOST + 2) * MOST], own[MOST], write[MOST];
} weights;

static void weights_of(const ar_streams_back *a, const turn *all, size_t lane, weights *w) {
    const size_t m = a->streams;
    for (size_t j = 0; j < m; j++) {
        const float r = all->r[j][lane];
        float own = 0.0f;
        for (size_t c = 0; c < m + 2; c++) {
            const float dz = all->g.z[c][j][lane] * r;
            own -= dz * all->z.z[c][j][lane];
            w->p[c * m + j] = dz;
        }
        w->own[j] = own * r / (float)a->width;
        w->read[j] = all->value.z[0][j][lane];
        w->write[j] = all->write[j][lane];
        for (size_t k = 0; k < m; k++)
            w->mix[k * m + j] = all->value.z[2 + k][j][lane];
    }
}

/* Vectors of columns at a time, as registers allow. */
enum { AT_ONCE = VL == 16 ? 2 : 1 };

/* dp: rows a stride apart. */
INLINE void sums_step(size_t j, size_t n, size_t columns, size_t m, bool absorbs, bool writes,
                      size_t d, const token *t, const weights *w, const float *p, float *dp,
                      bool stream) {
    const size_t stride = ar_row_stride(d);
    vec grad[MOST][AT_ONCE];
#pragma GCC unroll 8
    for (size_t k = 0; k < m; k++)
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++)
            grad[k][c] = vec_load(t->grad[k] + j + c * VL, n);
    if (absorbs) {
        vec x[MOST][AT_ONCE], s[MOST][AT_ONCE];
#pragma GCC unroll 8
        for (size_t i = 0; i < m; i++) {
            const vec read = vec_all(w->read[i]);
#pragma GCC unroll 2
            for (size_t c = 0; c < columns; c++)
                s[i][c] = vec_load(t->dh + j + c * VL, n) * read;
#pragma GCC unroll 8
            for (size_t k = 0; k < m; k++) {
                const vec mix = vec_all(w->mix[k * m + i]);
#pragma GCC unroll 2
                for (size_t c = 0; c < columns; c++)
                    s[i][c] = vec_fma(mix, grad[k][c], s[i][c]);
            }
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < m; i++) {
            const vec own = vec_all(w->own[i]);
#pragma GCC unroll 2
            for (size_t c = 0; c < columns; c++) {
                x[i][c] = vec_load(t->x[i] + j + c * VL, n);
                s[i][c] = vec_fma(own, x[i][c], s[i][c]);
            }
        }
#pragma GCC unroll 10
        for (size_t q = 0; q < m + 2; q++) {
            const float *const projection = p + q * d + j;
            float *const to = dp + q * stride + j;
            vec y[AT_ONCE], sum[AT_ONCE];
#pragma GCC unroll 2
            for (size_t c = 0; c < columns; c++) {
                y[c] = vec_get(projection + c * VL, n);
                sum[c] = vec_get(to + c * VL, n);
            }
#pragma GCC unroll 8
            for (size_t i = 0; i < m; i++) {
                const vec dz = vec_all(w->p[q * m + i]);
#pragma GCC unroll 2
                for (size_t c = 0; c < columns; c++) {
                    s[i][c] = vec_fma(dz, y[c], s[i][c]);
                    sum[c] = vec_fma(dz, x[i][c], sum[c]);
                }
            }
#pragma GCC unroll 2
            for (size_t c = 0; c < columns; c++)
                vec_put(to + c * VL, sum[c], n);
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < m; i++)
#pragma GCC unroll 2
            for (size_t c = 0; c < columns; c++) {
                grad[i][c] = vec_rounded(s[i][c]);
                vec_store(t->grad[i] + j + c * VL, grad[i][c], n);
            }
    }
    if (!writes) return;
    vec s[AT_ONCE] = {{0}};
#pragma GCC unroll 8
    for (size_t k = 0; k < m; k++)
#pragma GCC unroll 2
        for (size_t c = 0; c < columns; c++)
            s[c] = vec_fma(vec_all(w->write[k]), grad[k][c], s[c]);
    if (columns == 2)
        vec_write2(t->dv + j, s[0], s[AT_ONCE - 1], stream);
    else
        vec_write(t->dv + j, s[0], n, stream);
}

INLINE void sums_of(size_t m, bool absorbs, bool writes, size_t d, const token *t, const weights *w,
                    const float *p, float *dp, bool stream) {
    size_t j = 0;
    for (; j + AT_ONCE * VL <= d; j += AT_ONCE * VL)
        sums_step(j, VL, AT_ONCE, m, absorbs, writes, d, t, w, p, dp, stream);
    for (; j + VL <= d; j += VL)
        sums_step(j, VL, 1, m, absorbs, writes, d, t, w, p, dp, stream);
    if (j < d) sums_step(j, d - j, 1, m, absorbs, writes, d, t, w, p, dp, stream);
}

INLINE void sums_of_m(size_t m, const ar_streams_back *a, const token *t, const weights *w,
                      float *dp, bool stream) {
    const size_t d = a->width;
    if (a->v && a->dv)
        sums_of(m, true, true, d, t, w, a->past_p, dp, stream);
    else if (a->v)
        sums_of(m, true, false, d, t, w, a->past_p, dp, stream);
    else
        sums_of(m, false, true, d, t, w, NULL, dp, stream);
}

static void sums(const ar_streams_back *a, const token *t, const weights *w, float *dp,
                 bool stream) {
    if (a->streams == 2)
        sums_of_m(2, a, t, w, dp, stream);
    else if (a->streams == 4)
        sums_of_m(4, a, t, w, dp, stream);
    else if (a->streams == 8)
        sums_of_m(8, a, t, w, dp, stream);
    else
        sums_of_m(a->streams, a, t, w, dp, stream);
}

/* ---- the pass ---- */

static size_t tokens_of(const ar_streams_back *a, size_t left) {
    const size_t most = ROOM / ((3 * a->streams + 2) * a->width * sizeof(element));
    const size_t tokens = most < 1 ? 1 : most < LANES ? most : LANES;
    return tokens < left ? tokens : left;
}

/* scratch: the sums of dp, m + 2 rows, and of db. */
void AR_SIMD(streams_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_streams_back *const a = args;
    const size_t d = a->width, m = a->streams, sizes = (m + 2) * ar_row_stride(d);
    const stream_layer past = {m, d, a->past_b, a->manifold}, next = {m, d, a->next_b, a->manifold};
    const bool stream = a->stream && a->dv && vec_aligned(a->dv, d);
    float *const db = scratch + sizes;
    turn all;
    weights w;
    token t;
    memset(&all, 0, sizeof all);
    if (a->v) memset(scratch, 0, (sizes + (m + 2) * m) * sizeof *scratch);
    for (size_t from = first, tokens; from < last; from += tokens) {
        tokens = tokens_of(a, last - from);
        memset(&all.g, 0, sizeof all.g);
        for (size_t i = 0; i < tokens; i++) {
            token_of(a, from + i, &t);
            look(a, &t, &all, i);
        }
        if (a->v) differentiate(&past, &all.z, &all.value, &all.g, db);
        if (a->dv) write_of(&next, all.write);
        for (size_t i = 0; i < tokens; i++) {
            token_of(a, from + i, &t);
            weights_of(a, &all, i, &w);
            sums(a, &t, &w, scratch, stream);
        }
    }
    if (stream) vec_fence();
}
