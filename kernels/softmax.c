#include "softmax.h"
#include "row.h"

#include <string.h>

/* Sources answered together: n of a few thousand needs no allocation, and a tile of
 * rows stays in the second-level cache while all queries pass over it. */
enum { TILE = 16 };
/* Queries that share one load of a source for their dot products. */
enum { QUERIES = 4 };

static ar_part merge_statistics(ar_part p, ar_part q, float *keep, float *take) {
    const float max = p.max > q.max ? p.max : q.max;
    const float old = p.sum * expf(p.max - max);
    const float new = q.sum *expf(q.max - max);
    const float sum = old + new;
    *keep = old / sum;
    *take = new / sum;
    return (ar_part){max, sum};
}

ar_part ar_softmax_merge(size_t d, const float *in, ar_part p, const float *x, ar_part q,
                         float *out) {
    if (p.sum == 0.0f && q.sum == 0.0f) {
        memset(out, 0, d * sizeof *out);
        return p;
    }
    if (q.sum == 0.0f) {
        memmove(out, in, d * sizeof *out);
        return p;
    }
    if (p.sum == 0.0f) {
        memcpy(out, x, d * sizeof *out);
        return q;
    }
    float keep, take;
    const ar_part merged = merge_statistics(p, q, &keep, &take);
    for (size_t j = 0; j < d; j++)
        out[j] = keep * in[j] + take * x[j];
    return merged;
}

ar_part ar_softmax_merge_source(size_t d, const float *in, ar_part p, const float *x,
                                const float *w, float *out) {
    float dot[2];
    ar_row_dots(2, d, x, (const float *const[]){x, w}, dot);
    const ar_part q = {dot[1] * ar_row_rms_inverse(d, dot[0]), 1.0f};
    return ar_softmax_merge(d, in, p, x, q, out);
}

/* From a query's logits z[0], z[QUERIES], ... of k sources to their weights beside
 * the part p; keep is the weight of p's vector. */
static ar_part weigh(ar_part p, size_t k, float *z, float *keep) {
    float max = p.max;
    for (size_t i = 0; i < k; i++)
        if (z[i * QUERIES] > max) max = z[i * QUERIES];
    const float old = p.sum == 0.0f ? 0.0f : p.sum * expf(p.max - max);
    float sum = old;
    for (size_t i = 0; i < k; i++)
        sum += z[i * QUERIES] = expf(z[i * QUERIES] - max);
    for (size_t i = 0; i < k; i++)
        z[i * QUERIES] /= sum;
    *keep = old / sum;
    return (ar_part){max, sum};
}

/* o += sum over k rows of z[row] x[row], row after row for every element; z steps by
 * QUERIES. Four rows share one load and store of o. */
static void accumulate(size_t k, size_t d, const float *const *x, const float *z,
                       float *restrict o) {
    size_t i = 0;
    for (; i + 4 <= k; i += 4) {
        const float *const x0 = x[i], *const x1 = x[i + 1], *const x2 = x[i + 2],
                           *const x3 = x[i + 3];
        const float z0 = z[i * QUERIES], z1 = z[(i + 1) * QUERIES], z2 = z[(i + 2) * QUERIES],
                    z3 = z[(i + 3) * QUERIES];
        for (size_t j = 0; j < d; j++) {
            float s = o[j];
            s += z0 * x0[j];
            s += z1 * x1[j];
            s += z2 * x2[j];
            s += z3 * x3[j];
            o[j] = s;
        }
    }
    for (; i < k; i++) {
        const float *const x0 = x[i];
        const float z0 = z[i * QUERIES];
        for (size_t j = 0; j < d; j++)
            o[j] += z0 * x0[j];
    }
}

/* One token's tile of k sources. */
typedef struct {
    size_t k, d;
    const float *x[TILE];
    float rms_inverse[TILE];
} tile;

/* Merge a tile into the parts of `queries` (1 or QUERIES, a literal) queries. o, max
 * and sum step by `vectors` and `scalars` from query to query. */
static inline void absorb(size_t queries, const tile *s, const float *w, float *o, size_t vectors,
                          float *max, float *sum, size_t scalars) {
    const size_t d = s->d;
    const float *query[QUERIES];
    float z[TILE * QUERIES];
    for (size_t q = 0; q < queries; q++)
        query[q] = w + q * d;
    for (size_t i = 0; i < s->k; i++) {
        ar_row_dots(queries, d, s->x[i], query, z + i * QUERIES);
        for (size_t q = 0; q < queries; q++)
            z[i * QUERIES + q] *= s->rms_inverse[i];
    }
    for (size_t q = 0; q < queries; q++) {
        const ar_part p = {max[q * scalars], sum[q * scalars]};
        float keep;
        const ar_part merged = weigh(p, s->k, z + q, &keep);
        max[q * scalars] = merged.max;
        sum[q * scalars] = merged.sum;
        if (p.sum != 0.0f)
            for (size_t j = 0; j < d; j++)
                o[q * vectors + j] *= keep;
        accumulate(s->k, d, s->x, z + q, o + q * vectors);
    }
}

static void attend(const ar_attention *a, size_t t, float *max, float *sum) {
    const size_t d = a->width, vectors = a->tokens * d, scalars = a->tokens;
    float *const o = a->o + t * d;
    for (size_t q = 0; q < a->queries; q++) {
        max[q * scalars] = -INFINITY;
        sum[q * scalars] = 0.0f;
        memset(o + q * vectors, 0, d * sizeof *o);
    }
    for (size_t first = 0; first < a->joint; first += TILE) {
        tile s = {.k = a->joint - first < TILE ? a->joint - first : TILE, .d = d};
        for (size_t i = 0; i < s.k; i++) {
            float squares;
            s.x[i] = a->source[first + i] + t * d;
            ar_row_dots(1, d, s.x[i], &s.x[i], &squares);
            s.rms_inverse[i] = ar_row_rms_inverse(d, squares);
        }
        size_t q = 0;
        for (; q + QUERIES <= a->queries; q += QUERIES)
            absorb(QUERIES, &s, a->query + q * d, o + q * vectors, vectors, max + q * scalars,
                   sum + q * scalars, scalars);
        for (; q < a->queries; q++)
            absorb(1, &s, a->query + q * d, o + q * vectors, vectors, max + q * scalars,
                   sum + q * scalars, scalars);
    }
    for (size_t i = a->joint; i < a->n; i++)
        for (size_t q = 0; q < a->queries; q++) {
            float *const part = o + q * vectors;
            const ar_part p = {max[q * scalars], sum[q * scalars]};
            const ar_part merged =
                ar_softmax_merge_source(d, part, p, a->source[i] + t * d, a->query + q * d, part);
            max[q * scalars] = merged.max;
            sum[q * scalars] = merged.sum;
        }
}

void ar_softmax_attend(const ar_attention *a) {
    for (size_t t = 0; t < a->tokens; t++)
        attend(a, t, a->max + t, a->sum + t);
}

void ar_softmax_attend_token(const ar_attention *a, size_t t) {
    float max, sum;
    attend(a, t, &max, &sum);
}
