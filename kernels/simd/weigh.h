#ifndef AR_WEIGH_H
#define AR_WEIGH_H

/* From logits to weights, a query a lane; and the rows that they come from. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"

/* Statistics of BATCH queries' softmax over the sources so far. */
typedef struct {
    float max[BATCH], sum[BATCH];
} parts;

INLINE parts empty_parts(void) {
    parts p;
    for (size_t q = 0; q < BATCH; q++) {
        p.max[q] = -INFINITY;
        p.sum[q] = 0.0f;
    }
    return p;
}

INLINE vec sigmoid(vec z) {
    const vec e = vec_exp(vec_pick(z > 0.0f, -z, z));
    return vec_pick(z > 0.0f, vec_all(1.0f), e) / (e + 1.0f);
}

/* z[i][q]: k sources' logits to their weights beside the part p, which becomes the
 * part of all; keep[q] is the weight of p's vector. */
static inline void weigh(size_t k, float (*z)[BATCH], parts *p, float *keep, ar_variant variant) {
    for (size_t q = 0; q < BATCH; q += VL) {
        if (variant.sigmoid) {
            for (size_t i = 0; i < k; i++)
                vec_put(&z[i][q], sigmoid(vec_get(&z[i][q], VL)), VL);
            vec_put(keep + q, vec_all(1.0f), VL);
            vec_put(p->sum + q, vec_all(1.0f), VL);
            continue;
        }
        const vec old_max = vec_get(p->max + q, VL), old_sum = vec_get(p->sum + q, VL);
        vec max = old_max;
        for (size_t i = 0; i < k; i++)
            max = vec_max(vec_get(&z[i][q], VL), max);
        const ivec none = old_sum == 0.0f;
        const vec old = vec_pick(none, (vec){0}, old_sum * vec_exp(old_max - max));
        vec sum = old;
        for (size_t i = 0; i < k; i++) {
            const vec e = vec_exp(vec_get(&z[i][q], VL) - max);
            vec_put(&z[i][q], e, VL);
            sum += e;
        }
        const vec inverse = 1.0f / sum;
        for (size_t i = 0; i < k; i++)
            vec_put(&z[i][q], vec_get(&z[i][q], VL) * inverse, VL);
        vec_put(keep + q, old * inverse, VL);
        vec_put(p->max + q, max, VL);
        vec_put(p->sum + q, sum, VL);
    }
}

INLINE void add_step(size_t j, size_t n, element *x, const element *v) {
    vec_store(x + j, vec_load(x + j, n) + vec_load(v + j, n), n);
}

/* x += v */
static inline void add_row(size_t d, element *x, const element *v) {
    STRIPS(d, add_step, x, v);
}

#endif
