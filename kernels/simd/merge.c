/* Phase 2: a query's part of a softmax merged with a few more sources. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* Squares and the product with w of one row, v added to it first where there is one;
 * the next token's are fetched. */
INLINE void look_step(size_t j, size_t n, size_t d, element *x, const element *v, const float *w,
                      vec *sum) {
    vec a = vec_load(x + j, n);
    fetch(x + d + j);
    if (v) {
        fetch(v + d + j);
        a = vec_rounded(a + vec_load(v + j, n));
        vec_store(x + j, a, n);
    }
    sum[0] = vec_fma(a, a, sum[0]);
    sum[1] = vec_fma(a, vec_get(w + j, n), sum[1]);
}

static float look(const ar_merge *a, element *x, const element *v) {
    const size_t d = a->width;
    vec sum[VL] = {{0}};
    if (v)
        STRIPS(d, look_step, d, x, v, a->query, sum);
    else
        STRIPS(d, look_step, d, x, NULL, a->query, sum);
    const vec sums = vec_sums(sum);
    return a->variant.raw_keys ? sums[1] : sums[1] * ar_row_rms_inverse(d, sums[0]);
}

/* keep[i], take[i]: what source i's merge does to the part (max, sum). */
static void weights(size_t k, const float *z, float *max, float *sum, float *keep, float *take,
                    ar_variant variant) {
    for (size_t i = 0; i < k; i++) {
        if (variant.sigmoid) {
            keep[i] = 1.0f;
            take[i] = sigmoid(vec_all(z[i]))[0];
            continue;
        }
        const float top = z[i] > *max ? z[i] : *max;
        const float old = *sum == 0.0f ? 0.0f : *sum * exp_of(*max - top);
        const float new = exp_of(z[i] - top);
        *max = top;
        *sum = old + new;
        keep[i] = old / *sum;
        take[i] = new / *sum;
    }
}

INLINE vec merged(size_t j, size_t n, size_t k, const element *const *x, vec s, const float *keep,
                  const float *take) {
    for (size_t i = 0; i < k; i++)
        s = vec_fma(vec_load(x[i] + j, n), vec_all(take[i]), s * keep[i]);
    return s;
}

/* One source, the case that counts. While a token's logit is computed the part of the token
 * before it is merged, so that arithmetic does not hold up the memory. */
typedef struct {
    element *x, *o;
    const element *v;
    vec keep, take;
} row;

/* Loads come before stores: rows of a page's length have the same low address bits, by which a
 * load is taken to depend on a store before it. */
INLINE void look_and_merge(size_t j, size_t n, bool looks, bool adds, bool merges, const row *now,
                           const row *before, const float *w, vec *sum) {
    vec a = {0}, out = {0};
    if (merges) {
        const vec old = vec_load(before->o + j, n) * before->keep;
        fetch(before->o + AHEAD + j);
        out = vec_fma(vec_load(before->x + j, n), before->take, old);
    }
    if (looks) {
        a = vec_load(now->x + j, n);
        fetch(now->x + AHEAD + j);
        if (adds) {
            fetch(now->v + AHEAD + j);
            a = vec_rounded(a + vec_load(now->v + j, n));
        }
        sum[0] = vec_fma(a, a, sum[0]);
        sum[1] = vec_fma(a, vec_get(w + j, n), sum[1]);
    }
    if (merges) vec_store(before->o + j, out, n);
    if (looks && adds) vec_store(now->x + j, a, n);
}

/* The sums of squares and products of a token's row. */
INLINE vec one_token(const ar_merge *a, bool looks, bool adds, bool merges, const row *next,
                     const row *last) {
    const row now = *next, before = *last;
    const float *const w = a->query;
    vec sum[VL] = {{0}};
    STRIPS(a->width, look_and_merge, looks, adds, merges, &now, &before, w, sum);
    return vec_sums(sum);
}

INLINE void merge_one(const ar_merge *a, size_t first, size_t last, bool adds) {
    const size_t d = a->width;
    row now = {0}, before = {0};
    for (size_t t = first; t < last; t++) {
        now.x = (element *)a->source[0] + t * d;
        now.v = adds ? (const element *)a->v + t * d : NULL;
        now.o = (element *)a->o + t * d;
        const vec sums = t > first ? one_token(a, true, adds, true, &now, &before)
                                   : one_token(a, true, adds, false, &now, &before);
        float max = a->max[t], sum = a->sum[t], keep, take;
        const float z = a->variant.raw_keys ? sums[1] : sums[1] * ar_row_rms_inverse(d, sums[0]);
        weights(1, &z, &max, &sum, &keep, &take, a->variant);
        if (a->keep) {
            a->max[t] = max;
            a->sum[t] = sum;
        }
        now.keep = vec_all(keep);
        now.take = vec_all(take);
        before = now;
    }
    if (first < last) one_token(a, false, adds, true, &now, &before);
}

INLINE void many_step(size_t j, size_t n, size_t k, const element *const *x, element *o,
                      const float *part, const float *keep, const float *take, float *next) {
    const vec s = part ? vec_get(part + j, n) : vec_load(o + j, n);
    const vec out = merged(j, n, k, x, s, keep, take);
    if (next)
        vec_put(next + j, out, n);
    else
        vec_store(o + j, out, n);
}

void AR_SIMD(merge)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_merge *const a = args;
    const size_t d = a->width;
    if (a->n == 1) {
        a->v ? merge_one(a, first, last, true) : merge_one(a, first, last, false);
        return;
    }
    for (size_t t = first; t < last; t++) {
        element *const o = (element *)a->o + t * d;
        float max = a->max[t], sum = a->sum[t];
        for (size_t i = 0; i < a->n; i += TILE) {
            const size_t k = a->n - i < TILE ? a->n - i : TILE;
            const element *x[TILE];
            float z[TILE], keep[TILE], take[TILE];
            for (size_t r = 0; r < k; r++) {
                element *const row = (element *)a->source[i + r] + t * d;
                const bool adds = a->v && i + r == a->n - 1;
                z[r] = look(a, row, adds ? (const element *)a->v + t * d : NULL);
                x[r] = row;
            }
            weights(k, z, &max, &sum, keep, take, a->variant);
            STRIPS(d, many_step, k, x, o, i ? scratch : NULL, keep, take,
                   i + k == a->n ? NULL : scratch);
        }
        if (a->keep) {
            a->max[t] = max;
            a->sum[t] = sum;
        }
    }
}
