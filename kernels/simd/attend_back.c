/* Backward of attention: gradients of the sources and of the queries. With logit
 * z = r w.x, r = 1/rms(x), weight p and D = dh.h,
 *     dz = p (dh.x - D)      (sigmoid: dh.x p (1 - p))
 *     dx += p dh + dz (r w - z r^2 x / d),    dw += dz r x.
 * Given weights: dx += p dh, dp = dh.x.
 * UNIT rows at a time, of as many tokens as that takes, in three steps: logits and weights; a look
 * at each dh, for dh.x and p dh; the rest, over the columns in strips. */

#include "attend_back.h"

#include "../row.h"
#include "weigh.h"

/* A token's numbers of a batch of queries; `none` without a query. */
static void numbers_of(const ar_attend_back *a, const unit *u, size_t token, const float *from,
                       float none, float *to) {
    for (size_t q = 0; q < BATCH; q++)
        to[q] = q < u->count && !a->variant.sigmoid ? from[(u->q0 + q) * a->scalars + u->t + token]
                                                    : none;
}

/* From products to weights, and logits in their place. */
static void weights_of(const ar_attend_back *a, unit *u) {
    for (size_t k = 0, i = 0; k < u->tokens; k++) {
        float max[BATCH], sum[BATCH];
        numbers_of(a, u, k, a->max, 0.0f, max);
        numbers_of(a, u, k, a->sum, 1.0f, sum);
        for (; i < (k + 1) * u->sources; i++)
            for (size_t q = 0; q < BATCH; q += VL) {
                const vec z = vec_get(&u->c[i][q], VL) * u->norm[i];
                const vec p = a->variant.sigmoid
                                  ? sigmoid(z)
                                  : vec_exp(z - vec_get(max + q, VL)) / vec_get(sum + q, VL);
                vec_put(&u->c[i][q], z, VL);
                vec_put(&u->p[i][q], p, VL);
            }
    }
}

/* From logits to dz r, in place. */
static void differentiate(const ar_attend_back *a, unit *u) {
    for (size_t k = 0, i = 0; k < u->tokens; k++) {
        float dot[BATCH];
        numbers_of(a, u, k, a->dot, 0.0f, dot);
        for (; i < (k + 1) * u->sources; i++) {
            const float r = u->norm[i];
            vec own = {0};
            for (size_t q = 0; q < BATCH; q += VL) {
                const vec p = vec_get(&u->p[i][q], VL), g = vec_get(&u->g[i][q], VL);
                const vec dz = p * (a->variant.sigmoid ? g * (1.0f - p) : g - vec_get(dot + q, VL));
                own += dz * vec_get(&u->c[i][q], VL);
                vec_put(&u->c[i][q], dz * r, VL);
            }
            u->own[i] = a->variant.raw_keys ? 0.0f : -vec_sum(own) * r * r / (float)a->width;
        }
    }
}

/* The given weight of a row under a query of the batch: its place in the matrix. */
static size_t given_at(const unit *u, size_t pitch, size_t from, size_t row, size_t q) {
    return (u->q0 + q) * pitch + from + row % u->sources;
}

/* A thread's rows; sums: of dw or, of given weights, of their gradients, [queries][n]. */
typedef struct {
    float *sums, *x, *dx, *query;
} room;

/* Sources from `first` on, of all tokens of the unit. */
static void open_rows(const ar_attend_back *a, unit *u, size_t first, const room *at) {
    const size_t d = a->width;
    u->rows = 0;
    for (size_t k = 0; k < u->tokens; k++)
        for (size_t i = first; i < first + u->sources; i++, u->rows++) {
            const size_t index = i ? i + a->skip : 0;
            const void *const x = a->open && i == a->n - 1 ? a->open : a->source[index];
            u->from[u->rows] = (const element *)x + (u->t + k) * d;
            u->grad[u->rows] = (element *)a->grad[index] + (u->t + k) * d;
        }
    u->x = at->x;
    u->dx = at->dx;
    pack(u->rows, d, u->from, at->x, u->norm);
    for (size_t r = 0; r < u->rows; r++)
        u->norm[r] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, u->norm[r]);
}

/* Sources from `first` on, under a batch of queries. */
static void cross(const ar_attend_back *a, unit *u, size_t first, const room *at) {
    const size_t d = a->width, stride = ar_row_stride(d);
    memset(u->g, 0, sizeof u->g);
    if (a->fixed) {
        memset(u->own, 0, sizeof u->own);
        for (size_t r = 0; r < u->rows; r++)
            for (size_t q = 0; q < u->count; q++)
                u->p[r][q] = a->fixed[given_at(u, a->pitch, first, r, q)];
    } else {
        const float *row[UNIT];
        for (size_t r = 0; r < u->rows; r++)
            row[r] = u->x + r * stride;
        u->w = at->query + u->q0 * stride;
        u->dw = at->sums + u->q0 * stride;
        memset(u->c, 0, sizeof u->c);
        dots(u->rows, u->count, d, row, u->w, stride, u->c, (const element *const *)u->grad);
        weights_of(a, u);
    }
    for (size_t k = 0; k < u->tokens; k++)
        look(a, u, k);
    if (a->fixed) {
        for (size_t r = 0; r < u->rows; r++)
            for (size_t q = 0; q < u->count; q++)
                at->sums[given_at(u, a->n, first, r, q)] += u->g[r][q];
    } else {
        differentiate(a, u);
    }
    rest(u, d);
}

/* Tokens of a unit: a query of the token's own serves one. */
static size_t tokens_of(const ar_attend_back *a, size_t left) {
    const size_t most = a->own || a->n > UNIT ? 1 : UNIT / (a->n > 0 ? a->n : 1);
    return most < left ? most : left;
}

INLINE void own_step(size_t j, size_t n, const float *dw, element *down) {
    vec_store(down + j, vec_get(dw + j, n), n);
}

/* scratch: the sums; then rows. */
void AR_SIMD(attend_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_attend_back *const a = args;
    const size_t d = a->width, stride = ar_row_stride(d);
    const size_t sums = a->fixed ? a->queries * a->n : a->queries * stride;
    room at = {.sums = scratch, .x = scratch + (sums + 15) / 16 * 16};
    at.dx = at.x + UNIT * stride;
    at.query = at.dx + UNIT * stride;
    memset(scratch, 0, sums * sizeof *scratch);
    for (size_t q = 0; !a->own && !a->fixed && q < a->queries; q++)
        memcpy(at.query + q * stride, a->query + q * d, d * sizeof *a->query);
    unit u = {.w = NULL};
    for (u.t = first; u.t < last; u.t += u.tokens) {
        u.tokens = tokens_of(a, last - u.t);
        if (a->own) {
            const element *const w = (const element *)a->own + u.t * d;
            float unused;
            pack(1, d, &w, at.query, &unused);
            memset(at.sums, 0, d * sizeof *at.sums);
        }
        for (size_t i = 0; i < a->n; i += UNIT) {
            u.sources = a->n - i < UNIT ? a->n - i : UNIT;
            open_rows(a, &u, i, &at);
            for (u.q0 = 0; u.q0 < a->queries; u.q0 += BATCH) {
                u.count = a->queries - u.q0 < BATCH ? a->queries - u.q0 : BATCH;
                u.first = u.q0 == 0;
                u.last = u.q0 + u.count == a->queries;
                cross(a, &u, i, &at);
            }
        }
        if (a->own) STRIPS(d, own_step, at.sums, (element *)a->down + u.t * d);
    }
}
