/* Routing: the table of the reference (section 4), closed forms, and a simulation of
 * the policies' definitions with a set of ids on every rank. */

#include "points.h"

#include <math.h>

/* ---- the table ---- */

/* Blocks + partial sums, and the formula, of one policy. */
static bool counts(const ar_point *point, ar_cache cache, int64_t blocks, int64_t partial) {
    ar_layout layout = layout_of(point);
    const ar_routing_sum sum = ar_routing_total(point, &layout, cache);
    ar_layout_free(&layout);
    const bool same = sum.blocks == blocks && sum.partial == partial &&
                      sum.vectors == blocks + partial &&
                      sum.bytes == (blocks + partial) * VECTOR_B &&
                      sum.hops == point->stages * point->virtual_stages - 1;
    if (!same)
        printf("# %s: %lld+%lld, expected %lld+%lld\n", ar_cache_names[cache],
               (long long)sum.blocks, (long long)sum.partial, (long long)blocks,
               (long long)partial);
    return same;
}

static double formula(const ar_point *point, ar_cache cache) {
    ar_layout layout = layout_of(point);
    const double vectors = ar_routing_total(point, &layout, cache).formula_vectors;
    ar_layout_free(&layout);
    return vectors;
}

static ar_point one_block_a_chunk(int64_t P, int64_t V) {
    ar_point point = point_of(P * V, 1, 1, P, V, 1);
    point.embedding = 0;
    return point;
}

static void test_table(tap *tap_now) {
    static const struct {
        const char *name;
        int64_t layers, unit, block, P, V;
        int embedding, remainder;
        int64_t blocks[AR_CACHES], partial;
    } row[] = {
        {"one block per chunk, P,V = 4,2", 8, 1, 1, 4, 2, 0, 0, {28, 22, 18}, 0},
        {"one block per chunk, P,V = 4,4", 16, 1, 1, 4, 4, 0, 0, {120, 54, 42}, 0},
        {"one block per chunk, P,V = 8,4", 32, 1, 1, 8, 4, 0, 0, {496, 220, 196}, 0},
        {"one block per chunk, P,V = 4,1", 4, 1, 1, 4, 1, 0, 0, {6, 6, 6}, 0},
        {"one block per chunk, P,V = 1,4", 4, 1, 1, 1, 4, 0, 0, {0, 0, 0}, 0},
        {"figure 3", 8, 1, 2, 4, 2, 1, 0, {19, 13, 11}, 4},
        {"figure 3, layers in pairs", 16, 2, 4, 4, 2, 1, 0, {19, 13, 11}, 4},
        {"Kimi K3, P=8 V=4, remainder first", 186, 2, 24, 8, 4, 1, 0, {143, 59, 53}, 24},
        {"Kimi K3, P=8 V=4, remainder last", 186, 2, 24, 8, 4, 1, 1, {136, 57, 52}, 24},
        {"Kimi K3, P=4 V=4, remainder first", 186, 2, 24, 4, 4, 1, 0, {70, 28, 22}, 9},
        {"Kimi K3, P=16 V=2, remainder first", 186, 2, 24, 16, 2, 1, 0, {143, 103, 99}, 24},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ar_point point = point_of(row[i].layers, row[i].unit, row[i].block, row[i].P, row[i].V, 1);
        point.embedding = row[i].embedding;
        point.remainder = row[i].remainder;
        for (ar_cache cache = 0; cache < AR_CACHES; cache++)
            OK(counts(&point, cache, row[i].blocks[cache], row[i].partial), "%s, %s", row[i].name,
               ar_cache_names[cache]);
    }
    const ar_point alone = one_block_a_chunk(1, 4);
    OK(formula(&alone, AR_CACHE_NONE) > 0 && formula(&alone, AR_CACHE_RECEIVED) > 0,
       "one rank: nothing crosses, the formulas are positive all the same");
}

static void test_figure_3(tap *tap_now) {
    /* hop c carries the sources [from, to); chunks 4..7 are the second virtual stage */
    static const int32_t expected[AR_CACHES][7][2] = {
        {{0, 1}, {0, 2}, {0, 2}, {0, 3}, {0, 3}, {0, 4}, {0, 4}},
        {{0, 1}, {0, 2}, {0, 2}, {1, 3}, {1, 3}, {2, 4}, {2, 4}},
        {{0, 1}, {0, 2}, {0, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}},
    };
    const ar_point point = point_of(8, 1, 2, 4, 2, 1);
    ar_layout layout = layout_of(&point);
    int64_t total[AR_CACHES];
    for (ar_cache cache = 0; cache < AR_CACHES; cache++) {
        total[cache] = ar_routing_total(&point, &layout, cache).blocks;
        for (int32_t c = 0; c < 7; c++) {
            const ar_hop hop = ar_routing_hop(&layout, cache, c);
            OK(hop.wire && hop.from == expected[cache][c][0] && hop.to == expected[cache][c][1] &&
                   hop.stream == (c % 2 == 0),
               "figure 3, %s, hop %d into rank %d: b%d..b%d%s", ar_cache_names[cache], (int)c,
               (int)layout.chunk[c + 1].rank, (int)hop.from, (int)hop.to - 1,
               hop.stream ? " and the partial sum" : "");
        }
    }
    OK(total[AR_CACHE_NONE] - total[AR_CACHE_RECEIVED] == 6, "figure 3 saves 6 transmissions");
    ar_layout_free(&layout);
}

static void test_bytes(tap *tap_now) {
    ar_point point = point_of(186, 2, 24, 8, 4, 1);
    point.tokens = 8192;
    point.width = 7168;
    point.dtype = AR_BF16;
    OK(ar_routing_bytes(&point, 2) == 234881024, "one block and the stream: 234,881,024 B");
    point.tensor_parallel = 8;
    OK(ar_routing_bytes(&point, 2) == 234881024 / 8, "tensor-parallel ranks share it");
    point.tensor_parallel = 1;
    point.dtype = AR_FP32;
    OK(ar_routing_bytes(&point, 2) == 2 * 234881024, "fp32 doubles it");
}

/* torchtitan: the stream at every hop, and a block that ends at a boundary belongs to
 * the next chunk. Counted here beside ours. */
static void test_torchtitan(tap *tap_now) {
    const ar_point point = point_of(186, 2, 24, 8, 4, 1);
    ar_layout layout = layout_of(&point);
    int64_t uncached = 0, cached = 0;
    for (int32_t c = 0; c + 1 < layout.chunks; c++) {
        const int32_t history = (layout.chunk[c].last - 1) / 24 + 1;
        const int32_t before = c + 1 - 8;
        const int32_t known = before < 0 ? 0 : (layout.chunk[before].last - 1) / 24 + 1;
        uncached += history + 1;
        cached += history - known + 1;
    }
    OK(uncached == 167 && cached == 83, "torchtitan: 167 vectors, 83 with its cache");
    OK(ar_routing_total(&point, &layout, AR_CACHE_NONE).vectors == 167, "ours: 167");
    OK(ar_routing_total(&point, &layout, AR_CACHE_OWN).vectors == 77, "ours under own: 77");
    ar_layout_free(&layout);
}

static void test_mechanisms(tap *tap_now) {
    ar_point point = point_of(24, 2, 6, 4, 3, 1);
    for (ar_cache cache = 0; cache < AR_CACHES; cache++) {
        const char *name = ar_cache_names[cache];
        point.streams = 6;
        point.mechanism = AR_STANDARD;
        OK(counts(&point, cache, 0, 11), "standard, %s: one vector a hop", name);
        point.mechanism = AR_HIGHWAY;
        OK(counts(&point, cache, 0, 11), "highway, %s: one vector a hop", name);
        point.mechanism = AR_MHC;
        OK(counts(&point, cache, 0, 6 * 11), "mhc, %s: m vectors a hop", name);
        OK(fabs(formula(&point, cache) - 66) < 1e-12, "and so its formula");
        ar_point single = point;
        single.mechanism = AR_BLOCK;
        single.block = 1;
        ar_layout layout = layout_of(&single);
        const int64_t blocks = ar_routing_total(&single, &layout, cache).blocks;
        ar_layout_free(&layout);
        point.mechanism = AR_FULL;
        OK(blocks > 0 && counts(&point, cache, blocks, 0), "full, %s: S = 1, no partial sum", name);
        point.mechanism = AR_DENSEFORMER;
        OK(counts(&point, cache, blocks, 0), "denseformer, %s: the same", name);
    }
}

static void test_closed_forms(tap *tap_now) {
    uint64_t state = 3;
    int wrong = 0;
    for (int i = 0; i < 300; i++) {
        const int64_t P = 2 + dice(&state, 15), V = 1 + dice(&state, 6), N = 1 + dice(&state, 4);
        const int64_t S = 1 + dice(&state, 3), C = P * V; /* N blocks of S layers per chunk */
        ar_point point = point_of(C * N * S, N * S, S, P, V, 1);
        point.embedding = 0;
        const int64_t expected[AR_CACHES] = {C * (C - 1) / 2 * N,
                                             (P * (P - 1) / 2 + (V - 1) * P * P) * N,
                                             (P * (P - 1) / 2 + (V - 1) * P * (P - 1)) * N};
        for (ar_cache cache = 0; cache < AR_CACHES; cache++)
            if ((!counts(&point, cache, expected[cache], 0) ||
                 fabs(formula(&point, cache) - (double)expected[cache]) > 1e-9) &&
                !wrong++)
                show_point(&point, "closed form");
    }
    OK(wrong == 0, "equations 7, 8 and own: exact and formula at 300 random P, V, N, S");
}

/* ---- sets ---- */

/* Run one micro-batch forward; compare what each message carries with the routing. */
static bool same_sets(const ar_point *point, const ar_layout *layout, ar_cache cache) {
    const bool streams = point->mechanism == AR_STANDARD || point->mechanism == AR_HIGHWAY ||
                         point->mechanism == AR_MHC;
    const int64_t S = point->mechanism == AR_BLOCK ? point->block : 1;
    const uint64_t embedding = !streams && point->embedding ? 1 : 0; /* else nobody sends id 0 */
    uint64_t on_rank[8] = {0}, finished = embedding;
    ar_routing_sum sum = {0};
    bool same = true, inside = false;
    if (cache != AR_CACHE_NONE) on_rank[0] = embedding;
    for (int32_t c = 0; c + 1 < layout->chunks; c++) {
        const int32_t from = c % (int32_t)point->stages, to = (c + 1) % (int32_t)point->stages;
        for (int32_t l = layout->chunk[c].first; l <= layout->chunk[c].last; l++) {
            const bool ends = !streams && (l % S == 0 || l == point->layers);
            inside = !ends;
            if (ends) finished |= UINT64_C(1) << ((l + S - 1) / S);
        }
        if (cache == AR_CACHE_OWN) on_rank[from] |= finished; /* read here, or made here */
        uint64_t message = from == to ? 0 : finished & ~on_rank[to], routed = 0;
        if (cache != AR_CACHE_NONE) on_rank[to] |= message;
        int64_t stream = streams || inside;
        if (point->mechanism == AR_MHC) stream = point->streams;
        if (from == to) stream = 0;
        const ar_hop hop = ar_routing_hop(layout, cache, c);
        for (int32_t s = hop.from; s < hop.to; s++)
            routed |= UINT64_C(1) << s;
        same &= routed == message && hop.stream == stream && hop.wire == (from != to);
        int64_t count = 0;
        for (int s = 0; s < 64; s++)
            count += (int64_t)(message >> s & 1);
        same &= ar_hop_vectors(hop) == count + stream;
        sum.blocks += count;
        sum.partial += stream;
        sum.embeddings += (int64_t)(message & 1);
        if (count + stream > sum.peak_vectors) sum.peak_vectors = count + stream;
    }
    const ar_routing_sum got = ar_routing_total(point, layout, cache);
    return same && got.blocks == sum.blocks && got.partial == sum.partial &&
           got.embeddings == sum.embeddings && got.peak_vectors == sum.peak_vectors &&
           got.bytes == (sum.blocks + sum.partial) * VECTOR_B;
}

static void test_sets(tap *tap_now) {
    uint64_t state = 5;
    int wrong[AR_CACHES] = {0}, empty = 0;
    for (int i = 0; i < 4000; i++) {
        const ar_point point = point_at_random(&state);
        ar_layout layout = layout_of(&point);
        for (int32_t c = 0; c < layout.chunks; c++)
            empty += layout.chunk[c].first > layout.chunk[c].last;
        for (ar_cache cache = 0; cache < AR_CACHES; cache++)
            if (!same_sets(&point, &layout, cache) && !wrong[cache]++)
                show_point(&point, ar_cache_names[cache]);
        ar_layout_free(&layout);
    }
    for (ar_cache cache = 0; cache < AR_CACHES; cache++)
        OK(wrong[cache] == 0 && empty > 4000, "%s: 4000 random points as their sets of ids say",
           ar_cache_names[cache]);
}

int main(void) {
    TAP_START;
    test_table(tap_now);
    test_figure_3(tap_now);
    test_bytes(tap_now);
    test_torchtitan(tap_now);
    test_mechanisms(tap_now);
    test_closed_forms(tap_now);
    test_sets(tap_now);
    return DONE();
}
