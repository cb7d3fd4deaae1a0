/* Backward of attention: gradients of the sources and of the queries. With logit
 * z = r w.x, r = 1/rms(x), weight p and D = dh.h,
 *     dz = p (dh.x - D)      (sigmoid: dh.x p (1 - p))
 *     dx += p dh + dz (r w - z r^2 x / d),    dw += dz r x. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* A token's tile of k sources against `count` queries from q0. */
typedef struct {
    size_t t, q0, count, k;
    const float *x[TILE], *dh[BATCH], *w[BATCH];
    element *grad[TILE];
    float norm[TILE];
} square;

/* From products z = x.w and g = x.dh to weights p in z and dz r in g; own[i] = the
 * weight of x_i in its own gradient. */
static void differentiate(const ar_attend_back *a, const square *s, float (*z)[BATCH],
                          float (*g)[BATCH], float *own) {
    for (size_t i = 0; i < s->k; i++) {
        own[i] = 0.0f;
        for (size_t q = 0; q < s->count; q++) {
            const size_t at = (s->q0 + q) * a->scalars + s->t;
            const float r = s->norm[i], logit = z[i][q] * r;
            float p, dz;
            if (a->variant.sigmoid) {
                p = sigmoid(vec_all(logit))[0];
                dz = g[i][q] * p * (1.0f - p);
            } else {
                p = exp_of(logit - a->max[at]) / a->sum[at];
                dz = p * (g[i][q] - a->dot[at]);
            }
            z[i][q] = p;
            g[i][q] = dz * r;
            if (!a->variant.raw_keys) own[i] -= dz * logit * r * r / (float)a->width;
        }
    }
}

/* grad_i += sum over q of p dh + dz r w, and own x_i; for two sources at a time. */
static void to_sources(const ar_attend_back *a, const square *s, const float (*z)[BATCH],
                       const float (*g)[BATCH], const float *own, float *room) {
    const size_t d = a->width, stride = ar_row_stride(d);
    for (size_t i = 0; i < s->k; i += 2) {
        const size_t pair = s->k - i < 2 ? 1 : 2, rows = 2 * s->count + pair;
        const float *x[2 * BATCH + 2];
        float weight[2 * BATCH + 2][BATCH] = {{0}};
        mix_ends e = {.keep = {1.0f, 1.0f}};
        float *between[2];
        for (size_t q = 0; q < s->count; q++) {
            x[q] = s->dh[q];
            x[s->count + q] = s->w[q];
        }
        for (size_t k = 0; k < pair; k++) {
            x[2 * s->count + k] = s->x[i + k];
            weight[2 * s->count + k][k] = own[i + k];
            for (size_t q = 0; q < s->count; q++) {
                weight[q][k] = z[i + k][q];
                weight[s->count + q][k] = g[i + k][q];
            }
            between[k] = room + k * stride;
            const element *const from = s->grad[i + k];
            float unused;
            pack(1, d, &from, between[k], &unused);
            e.in[k] = between[k];
            e.out[k] = s->grad[i + k];
        }
        mix(rows, pair, d, x, (const float(*)[BATCH])weight, &e, between);
    }
}

/* dw_q += sum over i of dz r x_i. */
static void to_queries(const square *s, size_t d, const float (*g)[BATCH], float *dw) {
    const size_t stride = ar_row_stride(d);
    for (size_t q = 0; q < s->count; q += 2) {
        const size_t pair = s->count - q < 2 ? 1 : 2;
        mix_ends e = {.keep = {1.0f, 1.0f}};
        float *room[2];
        for (size_t k = 0; k < pair; k++)
            e.in[k] = e.part[k] = room[k] = dw + (s->q0 + q + k) * stride;
        mix(s->k, pair, d, s->x, (const float(*)[BATCH]) & g[0][q], &e, room);
    }
}

/* scratch: TILE rows of sources, as many of dh, the queries, their gradients (which stay
 * for the caller), two rows between. */
void AR_SIMD(attend_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_attend_back *const a = args;
    const size_t d = a->width, stride = ar_row_stride(d);
    float *const dh = scratch + TILE * stride, *const query = scratch + 2 * TILE * stride;
    float *const dw = query + a->queries * stride, *const room = dw + a->queries * stride;
    memset(dw, 0, a->queries * stride * sizeof *dw);
    for (size_t q = 0; q < a->queries; q++)
        memcpy(query + q * stride, a->query + q * d, d * sizeof *query);
    for (size_t t = first; t < last; t++)
        for (size_t q0 = 0; q0 < a->queries; q0 += BATCH) {
            square s = {.t = t, .q0 = q0};
            const element *from[TILE];
            float unused[BATCH];
            s.count = a->queries - q0 < BATCH ? a->queries - q0 : BATCH;
            for (size_t q = 0; q < s.count; q++) {
                from[q] = (const element *)a->dh + (q0 + q) * a->vectors + t * d;
                s.dh[q] = dh + q * stride;
                s.w[q] = query + (q0 + q) * stride;
            }
            pack(s.count, d, from, dh, unused);
            for (size_t i = 0; i < a->n; i += TILE) {
                float z[TILE][BATCH], g[TILE][BATCH], own[TILE];
                s.k = a->n - i < TILE ? a->n - i : TILE;
                for (size_t k = 0; k < s.k; k++) {
                    from[k] = (const element *)a->source[i + k] + t * d;
                    s.x[k] = scratch + k * stride;
                    s.grad[k] = (element *)a->grad[i + k] + t * d;
                }
                pack(s.k, d, from, scratch, s.norm);
                for (size_t k = 0; k < s.k; k++)
                    s.norm[k] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, s.norm[k]);
                dots(s.k, s.count, d, s.x, s.w[0], stride, z, from);
                dots(s.k, s.count, d, s.x, dh, stride, g, from);
                differentiate(a, &s, z, g, own);
                to_sources(a, &s, (const float(*)[BATCH])z, (const float(*)[BATCH])g, own, room);
                to_queries(&s, d, (const float(*)[BATCH])g, dw);
            }
        }
}
