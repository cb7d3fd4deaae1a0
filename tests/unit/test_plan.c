/* Plan: action lists, messages and memory against hand counts; thousands of random
 * plans pass the checker. What the checker refuses is in test_check.c. */

#include "check.h"
#include "points.h"

/* A rank's list as "post F1.0, wait F1.0, keep F1.0 [0,3), ...". */
static const char *list_of(const ar_point *point, int32_t rank) {
    static const char *const verb[] = {"post", "wait", "compute", "send", "keep", "release"};
    static char text[4096];
    ar_layout layout = layout_of(point);
    ar_plan *plans = plans_of(point, &layout);
    size_t used = 0;
    for (size_t i = 0; i < plans[rank].count; i++) {
        const ar_action *a = &plans[rank].action[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %c%d.%d", i ? ", " : "",
                                 verb[a->kind], a->backward ? 'B' : 'F', (int)a->chunk,
                                 (int)a->microbatch);
        if (a->kind == AR_KEEP || a->kind == AR_RELEASE)
            used += (size_t)snprintf(text + used, sizeof text - used, " [%d,%d)", (int)a->from,
                                     (int)a->to);
    }
    ar_plans_free(plans, layout.stages);
    ar_layout_free(&layout);
    return text;
}

static bool is_list(const ar_point *point, int32_t rank, const char *expected) {
    const char *list = list_of(point, rank);
    const bool same = strcmp(list, expected) == 0;
    if (!same) printf("# got:      %s\n# expected: %s\n", list, expected);
    return same;
}

static void test_lists(tap *tap_now) {
    ar_point point = point_of(4, 1, 1, 2, 1, 1); /* b1 b2 | b3 b4 */
    point.schedule = AR_1F1B;
    point.prefetch = 0;
    OK(is_list(&point, 0,
               "keep F0.0 [0,1), compute F0.0, keep F0.0 [1,3), send F0.0, "
               "post B0.0, wait B0.0, compute B0.0, release B0.0 [0,3)"),
       "two ranks, training, prefetch 0: the first");
    OK(is_list(&point, 1,
               "post F1.0, wait F1.0, keep F1.0 [0,3), compute F1.0, keep F1.0 [3,5), "
               "compute B1.0, send B1.0, release B1.0 [0,5)"),
       "and the second");
    point.prefetch = 1;
    OK(is_list(&point, 0,
               "post B0.0, keep F0.0 [0,1), compute F0.0, keep F0.0 [1,3), send F0.0, "
               "wait B0.0, compute B0.0, release B0.0 [0,3)"),
       "prefetch 1: posted one compute ahead");
    point.pass = AR_FORWARD_ONLY;
    point.microbatches = 2;
    OK(is_list(&point, 1,
               "post F1.0, post F1.1, wait F1.0, keep F1.0 [0,3), compute F1.0, keep F1.0 [3,5), "
               "release F1.0 [0,5), wait F1.1, keep F1.1 [0,3), compute F1.1, keep F1.1 [3,5), "
               "release F1.1 [0,5)"),
       "forward only: released after the last reader");
    point = point_of(2, 1, 1, 1, 2, 1);
    point.pass = AR_FORWARD_ONLY;
    OK(is_list(&point, 0,
               "keep F0.0 [0,1), compute F0.0, keep F0.0 [1,2), "
               "compute F1.0, keep F1.0 [2,3), release F1.0 [0,3)"),
       "one rank, two chunks: no messages, nothing kept twice");
    point.mechanism = AR_STANDARD;
    OK(is_list(&point, 0, "compute F0.0, compute F1.0"), "standard keeps nothing");
}

static void test_messages(tap *tap_now) {
    ar_point point = point_of(8, 1, 2, 4, 2, 1); /* figure 3 */
    point.cache = AR_CACHE_RECEIVED;
    ar_layout layout = layout_of(&point);
    ar_message m = ar_plan_message(&point, &layout, &(ar_action){.kind = AR_SEND, .chunk = 5});
    OK(m.peer == 2 && m.into == 6 && m.tag == 12 && m.hop.from == 2 && m.hop.to == 4 &&
           m.hop.stream == 0 && m.bytes == 2 * VECTOR_B,
       "the send of chunk 5 goes into chunk 6 on rank 2");
    const ar_message got =
        ar_plan_message(&point, &layout, &(ar_action){.kind = AR_WAIT, .chunk = 6});
    OK(got.peer == 1 && got.into == 6 && got.tag == m.tag && got.bytes == m.bytes,
       "its receiver waits for rank 1");
    m = ar_plan_message(&point, &layout,
                        &(ar_action){.kind = AR_SEND, .chunk = 4, .backward = true});
    OK(m.peer == 3 && m.into == 3 && m.tag == 7 && m.bytes == 2 * VECTOR_B,
       "the gradient of chunk 4's input goes back to rank 3, as large as it came");
    m = ar_plan_message(&point, &layout,
                        &(ar_action){.kind = AR_POST, .chunk = 3, .backward = true});
    OK(m.peer == 0 && m.into == 3 && m.tag == 7 && m.bytes == 2 * VECTOR_B, "and is received so");
    ar_layout_free(&layout);
}

/* Peaks in vectors of one rank. */
static bool peaks(const ar_point *point, int32_t rank, int64_t cache, int64_t activation,
                  int64_t message) {
    ar_layout layout = layout_of(point);
    ar_plan *plans = plans_of(point, &layout);
    const ar_plan_peak peak = ar_plan_memory(point, &layout, &plans[rank]);
    ar_plans_free(plans, layout.stages);
    ar_layout_free(&layout);
    const bool same = peak.cache_B == cache * VECTOR_B &&
                      peak.activation_B == activation * VECTOR_B &&
                      peak.message_B == message * VECTOR_B;
    if (!same)
        printf("# got %g, %g, %g vectors\n", (double)peak.cache_B / VECTOR_B,
               (double)peak.activation_B / VECTOR_B, (double)peak.message_B / VECTOR_B);
    return same;
}

static void test_memory(tap *tap_now) {
    /* b1 b2 | b3 b4, 2 micro-batches; a message is b0 b1 b2 */
    ar_point point = point_of(4, 1, 1, 2, 1, 2);
    point.schedule = AR_1F1B;
    point.pass = AR_FORWARD_ONLY;
    OK(peaks(&point, 0, 3, 0, 6), "forward, rank 0: b0..b2; two sends of 3");
    OK(peaks(&point, 1, 5, 0, 6), "forward, rank 1: b0..b4; two receives of 3");
    point.prefetch = 0;
    OK(peaks(&point, 1, 5, 0, 3), "prefetch 0: one receive at a time");
    point.pass = AR_TRAIN;
    OK(peaks(&point, 0, 6, 8, 9), "train, rank 0: two micro-batches alive, 2 layers x 2 each");
    OK(peaks(&point, 1, 5, 4, 9), "train, rank 1: one alive");
    point.schedule = AR_GPIPE;
    OK(peaks(&point, 1, 10, 8, 9), "gpipe: both alive on rank 1 too");
    point.mechanism = AR_STANDARD;
    OK(peaks(&point, 1, 0, 8, 3), "standard: no sources; messages of one vector");

    /* b1 | b2 | b3 | b4 on two ranks; rank 0 runs F0.0 F0.1 F2.0 F2.1. Messages count with
     * the largest: 4 sends (into chunks 1 and 3, two each) and 2 receives (into chunk 2). */
    point = point_of(4, 1, 1, 2, 2, 2);
    point.pass = AR_FORWARD_ONLY;
    point.cache = AR_CACHE_NONE;
    OK(peaks(&point, 0, 4, 0, 4 * 4 + 2 * 3), "forward, none: nothing stays, b0..b3 at chunk 2");
    point.cache = AR_CACHE_RECEIVED;
    OK(peaks(&point, 0, 5, 0, 4 * 2 + 2 * 2), "received: b0 of each stays; b1 b2 come, b3");
    point.cache = AR_CACHE_OWN;
    OK(peaks(&point, 0, 6, 0, 4 * 2 + 2 * 1), "own: b0 b1 of each stay; b2 comes, b3");
    point.cache = AR_CACHE_NONE;
    point.pass = AR_TRAIN; /* 2 more sends, of 3; 4 more receives, of up to 4, 2 at a time */
    OK(peaks(&point, 0, 8, 8, 6 * 4 + 2 * 4), "train: what was read stays for the backward, once");
    point = point_of(4, 1, 1, 1, 1, 3);
    OK(peaks(&point, 0, 5, 8, 0), "P = 1: no messages");
    point.pass = AR_FORWARD_ONLY;
    point.virtual_stages = 4;
    for (point.cache = AR_CACHE_NONE; point.cache < AR_CACHES; point.cache++) {
        point.schedule = AR_INTERLEAVED;
        OK(peaks(&point, 0, 5, 0, 0), "P = 1, V = 4, %s: one after the other",
           ar_cache_names[point.cache]);
        point.schedule = AR_GPIPE;
        OK(peaks(&point, 0, 5 + 4 + 4, 0, 0), "gpipe: the others wait with b0..b3");
    }
}

/* One micro-batch: a rank holds each block once, however many chunks read it. */
static void test_once(tap *tap_now) {
    for (int64_t V = 1; V <= 8; V *= 2)
        for (int pass = AR_FORWARD_ONLY; pass <= AR_TRAIN; pass++) {
            ar_point point = point_of(32, 1, 2, 2, V, 1);
            point.pass = pass;
            point.cache = AR_CACHE_OWN;
            ar_layout layout = layout_of(&point);
            ar_plan *plans = plans_of(&point, &layout);
            OK(ar_plan_memory(&point, &layout, &plans[1]).cache_B == 17 * VECTOR_B,
               "V = %lld, %s: 16 blocks and the embedding, each once", (long long)V,
               pass == AR_TRAIN ? "train" : "forward");
            ar_plans_free(plans, 2);
            ar_layout_free(&layout);
        }
}

/* Sends of all ranks are the routing's, for every micro-batch and pass. */
static bool sends_match(const ar_point *point, const ar_layout *layout, const ar_plan *plans) {
    const int64_t times = point->microbatches * (point->pass == AR_TRAIN ? 2 : 1);
    const ar_routing_sum sum = ar_routing_total(point, layout, (ar_cache)point->cache);
    ar_plan_sent all = {0};
    for (int32_t r = 0; r < layout->stages; r++) {
        const ar_plan_sent sent = ar_plan_sends(point, layout, &plans[r]);
        all.bytes += sent.bytes;
        all.messages += sent.messages;
    }
    return all.bytes == sum.bytes * times &&
           all.messages == (layout->stages > 1 ? sum.hops * times : 0);
}

static void test_random(tap *tap_now) {
    uint64_t state = 13;
    int refused = 0, other = 0;
    for (int i = 0; i < 2500; i++) {
        const ar_point point = point_at_random(&state);
        ar_layout layout = layout_of(&point);
        ar_plan *plans = plans_of(&point, &layout);
        ar_err err;
        if (ar_plan_check(&point, &layout, plans, &err) != AR_OK && !refused++) {
            show_point(&point, "refused");
            printf("# %s\n", err.text);
        }
        if (!sends_match(&point, &layout, plans) && !other++) show_point(&point, "sends");
        ar_plans_free(plans, layout.stages);
        ar_layout_free(&layout);
    }
    OK(refused == 0, "2500 random plans pass the checker");
    OK(other == 0, "and send what the routing says");
}

/* Many more micro-batches than ranks and buffers: no schedule runs into itself. */
static void test_long(tap *tap_now) {
    for (int schedule = AR_GPIPE; schedule <= AR_INTERLEAVED; schedule++)
        for (int64_t P = 1; P <= 9; P += 4) {
            ar_point point = point_of(64, 1, 3, P, schedule == AR_1F1B ? 1 : 3, 200);
            point.schedule = schedule;
            point.prefetch = 0;
            ar_layout layout = layout_of(&point);
            ar_plan *plans = plans_of(&point, &layout);
            ar_err err = {""};
            OK(ar_plan_check(&point, &layout, plans, &err) == AR_OK,
               "schedule %d, P = %lld, 200 micro-batches: sound%s", schedule, (long long)P,
               err.text);
            ar_plans_free(plans, layout.stages);
            ar_layout_free(&layout);
        }
}

int main(void) {
    TAP_START;
    test_lists(tap_now);
    test_messages(tap_now);
    test_memory(tap_now);
    test_once(tap_now);
    test_long(tap_now);
    test_random(tap_now);
    return DONE();
}
