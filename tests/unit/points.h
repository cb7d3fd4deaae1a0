#ifndef AR_TEST_POINTS_H
#define AR_TEST_POINTS_H

/* Points for the tests of the pure steps: by hand, and at random from a fixed seed. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planned.h"
#include "tap.h"

/* 0..n-1; xorshift64*. */
static inline int64_t dice(uint64_t *state, int64_t n) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (int64_t)((*state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % (uint64_t)n);
}

/* A vector of this point is 4 tokens x 8 x 4 B. */
enum { VECTOR_B = 128 };

static inline ar_point point_of(int64_t layers, int64_t unit, int64_t block, int64_t P, int64_t V,
                                int64_t M) {
    ar_point point;
    ar_point_init(&point);
    point.layers = layers;
    point.unit = unit;
    point.block = block;
    point.width = 8;
    point.tokens = 4;
    point.dtype = AR_FP32;
    point.stages = P;
    point.virtual_stages = V;
    point.microbatches = M;
    return point;
}

/* Units of each chunk: any composition, empty chunks among them. */
static inline void split_at_random(ar_point *point, uint64_t *state) {
    int64_t share[64] = {0};
    const int64_t chunks = point->stages * point->virtual_stages;
    for (int64_t u = (point->layers + point->unit - 1) / point->unit; u > 0; u--)
        share[dice(state, chunks)]++;
    for (int64_t c = 0, used = 0; c < chunks; c++)
        used += snprintf(point->split + used, sizeof point->split - (size_t)used, "%s%lld",
                         c ? "," : "", (long long)share[c]);
}

/* At most 8 ranks, 4 chunks on each, 48 layers; every mechanism, half of them Block. */
static inline ar_point point_at_random(uint64_t *state) {
    const int64_t layers = 1 + dice(state, 48), unit = 1 + dice(state, 3);
    const int64_t block = 1 + dice(state, layers + 3), P = 1 + dice(state, 8);
    ar_point point = point_of(layers, unit, block, P, 1 + dice(state, 4), 1);
    point.microbatches = 1 + dice(state, 10);
    point.embedding = (int)dice(state, 2);
    point.mechanism = dice(state, 2) ? AR_BLOCK : (int)dice(state, AR_BLOCK + 1);
    point.cache = (int)dice(state, AR_CACHES);
    point.schedule = dice(state, 3) ? AR_INTERLEAVED : AR_GPIPE;
    if (point.virtual_stages == 1 && dice(state, 2)) point.schedule = AR_1F1B;
    point.pass = (int)dice(state, 2);
    point.remainder = (int)dice(state, 2);
    point.prefetch = dice(state, 5);
    if (dice(state, 2)) split_at_random(&point, state);
    return point;
}

/* A layout, and the plans of all ranks. A failure ends the test. */
static inline ar_layout layout_of(const ar_point *point) {
    ar_layout layout;
    ar_err err;
    if (ar_layout_make(point, &layout, &err) == AR_OK) return layout;
    printf("Bail out! %s\n", err.text);
    exit(1);
}

static inline ar_plan *plans_of(const ar_point *point, const ar_layout *layout) {
    ar_plan *plans;
    ar_err err;
    if (ar_plans_make(point, layout, &plans, &err) == AR_OK) return plans;
    printf("Bail out! %s\n", err.text);
    exit(1);
}

/* For the comment line of a failed random case. */
static inline void show_point(const ar_point *point, const char *what) {
    printf("# %s: L=%lld unit=%lld S=%lld P=%lld V=%lld M=%lld mechanism=%d cache=%d embedding=%d "
           "schedule=%d pass=%d prefetch=%lld remainder=%d split=%s\n",
           what, (long long)point->layers, (long long)point->unit, (long long)point->block,
           (long long)point->stages, (long long)point->virtual_stages,
           (long long)point->microbatches, point->mechanism, point->cache, point->embedding,
           point->schedule, point->pass, (long long)point->prefetch, point->remainder,
           point->split);
}

static inline bool has(const char *text, const char *part) {
    if (strstr(text, part)) return true;
    printf("# got: %s\n# expected in it: %s\n", text, part);
    return false;
}

#endif
