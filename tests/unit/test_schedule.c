/* Schedule: orders from the literature, written out by hand, and its rules. */

#include "points.h"

/* A rank's tasks as "F0.0 F4.0 B4.0": direction, chunk, micro-batch. */
static const char *order_of(const ar_point *point, int32_t rank) {
    static char text[8192];
    ar_layout layout = layout_of(point);
    ar_tasks tasks;
    ar_err err;
    size_t used = 0;
    text[0] = '\0';
    if (ar_schedule_make(point, &layout, rank, &tasks, &err) != AR_OK) return "none";
    for (size_t i = 0; i < tasks.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c%d.%d", i ? " " : "",
                                 tasks.task[i].backward ? 'B' : 'F', (int)tasks.task[i].chunk,
                                 (int)tasks.task[i].microbatch);
    ar_tasks_free(&tasks);
    ar_layout_free(&layout);
    return text;
}

static ar_point scheduled(int schedule, int64_t P, int64_t V, int64_t M) {
    ar_point point = point_of(P * V, 1, 1, P, V, M);
    point.schedule = schedule;
    return point;
}

static bool is_order(const ar_point *point, int32_t rank, const char *expected) {
    const char *order = order_of(point, rank);
    const bool same = strcmp(order, expected) == 0;
    if (!same) printf("# got:      %s\n# expected: %s\n", order, expected);
    return same;
}

static void test_1f1b(tap *tap_now) {
    const ar_point point = scheduled(AR_1F1B, 4, 1, 8), few = scheduled(AR_1F1B, 4, 1, 2);
    OK(is_order(&point, 0,
                "F0.0 F0.1 F0.2 F0.3 B0.0 F0.4 B0.1 F0.5 B0.2 F0.6 B0.3 F0.7 B0.4 B0.5 B0.6 B0.7"),
       "1f1b, P=4 M=8, rank 0: three forwards ahead");
    OK(is_order(&point, 2,
                "F2.0 F2.1 B2.0 F2.2 B2.1 F2.3 B2.2 F2.4 B2.3 F2.5 B2.4 F2.6 B2.5 F2.7 B2.6 B2.7"),
       "1f1b, rank 2: one ahead");
    OK(is_order(&point, 3,
                "F3.0 B3.0 F3.1 B3.1 F3.2 B3.2 F3.3 B3.3 F3.4 B3.4 F3.5 B3.5 F3.6 B3.6 F3.7 B3.7"),
       "1f1b, the last rank: none ahead");
    OK(is_order(&few, 0, "F0.0 F0.1 B0.0 B0.1"), "1f1b, fewer micro-batches than the warm-up");
    OK(is_order(&few, 3, "F3.0 B3.0 F3.1 B3.1"), "and its last rank");
}

/* Narayanan et al., figure 4 (lower half): 4 devices, 2 chunks each, 8 micro-batches. */
static void test_interleaved(tap *tap_now) {
    ar_point point = scheduled(AR_INTERLEAVED, 4, 2, 8);
    OK(is_order(&point, 0,
                "F0.0 F0.1 F0.2 F0.3 F4.0 F4.1 F4.2 F4.3 F0.4 F0.5 " /* warm-up: 2 (P-1) + P */
                "F0.6 B4.0 F0.7 B4.1 F4.4 B4.2 F4.5 B4.3 F4.6 B0.0 F4.7 B0.1 "
                "B0.2 B0.3 B4.4 B4.5 B4.6 B4.7 B0.4 B0.5 B0.6 B0.7"),
       "interleaved, P=4 V=2 M=8, rank 0");
    OK(is_order(&point, 3,
                "F3.0 F3.1 F3.2 F3.3 " /* warm-up: P */
                "F7.0 B7.0 F7.1 B7.1 F7.2 B7.2 F7.3 B7.3 F3.4 B3.0 F3.5 B3.1 F3.6 B3.2 F3.7 B3.3 "
                "F7.4 B7.4 F7.5 B7.5 F7.6 B7.6 F7.7 B7.7 B3.4 B3.5 B3.6 B3.7"),
       "interleaved, rank 3");
    point.pass = AR_FORWARD_ONLY;
    OK(is_order(&point, 1,
                "F1.0 F1.1 F1.2 F1.3 F5.0 F5.1 F5.2 F5.3 F1.4 F1.5 F1.6 F1.7 F5.4 F5.5 F5.6 F5.7"),
       "interleaved, forward only");
    point = scheduled(AR_INTERLEAVED, 2, 2, 3);
    OK(is_order(&point, 0, "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 B2.1 F2.2 B0.0 B0.1 B2.2 B0.2"),
       "interleaved, P=2 V=2 M=3: the second round is ordered as if full");
    OK(is_order(&point, 1, "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 B1.1 F3.2 B3.2 B1.2"),
       "and its last rank");
}

static void test_gpipe(tap *tap_now) {
    ar_point point = scheduled(AR_GPIPE, 2, 2, 2);
    OK(is_order(&point, 0, "F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1"), "gpipe, rank 0");
    OK(is_order(&point, 1, "F1.0 F1.1 F3.0 F3.1 B3.0 B3.1 B1.0 B1.1"), "gpipe, rank 1");
    point.pass = AR_FORWARD_ONLY;
    OK(is_order(&point, 1, "F1.0 F1.1 F3.0 F3.1"), "gpipe, forward only");
}

static void test_rules(tap *tap_now) {
    ar_point point = scheduled(AR_1F1B, 4, 2, 8);
    for (point.bad = AR_EUSAGE; point.bad <= AR_EINPUT; point.bad++) {
        ar_err err = {""};
        OK(ar_schedule_check(&point, &err) == point.bad && has(err.text, "rule: 1f1b") &&
               has(err.text, "virtual = 2") && has(err.text, "interleaved"),
           "1f1b with V = 2 is refused with its rule, status %d", point.bad);
    }
    for (int64_t P = 1; P <= 4; P++)
        for (int64_t M = 1; M <= 9; M++) {
            const ar_point uneven = scheduled(AR_INTERLEAVED, P, 2, M);
            const char *note = ar_schedule_note(&uneven);
            ar_err err;
            OK(ar_schedule_check(&uneven, &err) == AR_OK && (note != NULL) == (M % P != 0) &&
                   (!note || has(note, "padded rounds")),
               "interleaved, M=%lld P=%lld: %s", (long long)M, (long long)P,
               M % P ? "accepted under a named rule" : "no rule is needed");
        }
    point = scheduled(AR_GPIPE, 4, 2, 7);
    OK(!ar_schedule_note(&point), "gpipe takes any M");
    point = scheduled(AR_INTERLEAVED, 4, 1, 7);
    OK(!ar_schedule_note(&point), "so does interleaved with V = 1");
}

/* ---- the interleaved order, from Megatron-LM's description, for any M ---- */

/* The k-th forward or backward of a full schedule. */
static ar_task nth_task(const ar_point *point, int32_t rank, int64_t k, bool backward) {
    const int64_t P = point->stages, V = point->virtual_stages;
    const int64_t group = k / (P * V), inside = k % (P * V);
    const int64_t v = backward ? V - 1 - inside / P : inside / P;
    return (ar_task){(int32_t)(v * P) + rank, (int32_t)(group * P + inside % P), backward};
}

/* Warm-up forwards, then pairs of one forward and one backward, then the backwards that
 * are left; what the last round lacks is left out. */
static size_t interleaved(const ar_point *point, int32_t rank, ar_task *task) {
    const int64_t P = point->stages, V = point->virtual_stages, M = point->microbatches;
    const int64_t all = (M + P - 1) / P * P * V;
    int64_t forwards = 0, backwards = 0;
    int64_t warm_up = V == 1 ? P - rank - 1 : (P - rank - 1) * 2 + (V - 1) * P;
    if (warm_up > all || point->pass == AR_FORWARD_ONLY) warm_up = all;
    size_t count = 0;
    bool backward = false;
    while (forwards < all || (backwards < all && point->pass == AR_TRAIN)) {
        const bool pairs = forwards >= warm_up;
        if (pairs && forwards == all) backward = true;
        const ar_task next = nth_task(point, rank, backward ? backwards++ : forwards++, backward);
        if (next.microbatch < M) task[count++] = next;
        backward = pairs && !backward && forwards > warm_up;
    }
    return count;
}

/* Each task once, on its rank, the forward before the backward. */
static bool is_complete(const ar_point *point, int32_t rank, const ar_tasks *tasks) {
    const int64_t P = point->stages, V = point->virtual_stages, M = point->microbatches;
    bool seen[2][64][16] = {{{false}}}, fine = true;
    for (size_t i = 0; i < tasks->count; i++) {
        const ar_task t = tasks->task[i];
        if (t.chunk < 0 || t.chunk >= P * V || t.microbatch < 0 || t.microbatch >= M) return false;
        fine &= t.chunk % P == rank && !seen[t.backward][t.chunk][t.microbatch];
        fine &= !t.backward || seen[0][t.chunk][t.microbatch];
        seen[t.backward][t.chunk][t.microbatch] = true;
    }
    return fine && tasks->count == (size_t)(V * M * (point->pass == AR_TRAIN ? 2 : 1));
}

static void test_random(tap *tap_now) {
    uint64_t state = 7;
    int incomplete = 0, other = 0, compared = 0;
    for (int i = 0; i < 2000; i++) {
        const ar_point point = point_at_random(&state);
        ar_layout layout = layout_of(&point);
        for (int32_t rank = 0; rank < layout.stages; rank++) {
            ar_task expected[2 * 4 * 16];
            ar_tasks tasks;
            ar_err err;
            if (ar_schedule_make(&point, &layout, rank, &tasks, &err) != AR_OK) continue;
            if (!is_complete(&point, rank, &tasks) && !incomplete++)
                show_point(&point, "incomplete");
            if (point.schedule != AR_GPIPE) {
                const size_t count = interleaved(&point, rank, expected);
                bool same = count == tasks.count;
                for (size_t t = 0; same && t < count; t++)
                    same = expected[t].chunk == tasks.task[t].chunk &&
                           expected[t].microbatch == tasks.task[t].microbatch &&
                           expected[t].backward == tasks.task[t].backward;
                compared++;
                if (!same && !other++) show_point(&point, "another order");
            }
            ar_tasks_free(&tasks);
        }
        ar_layout_free(&layout);
    }
    OK(incomplete == 0, "2000 random points: each task once, on its rank, forward first");
    OK(other == 0 && compared > 2000, "%d ranks: 1f1b and interleaved as described", compared);
}

int main(void) {
    TAP_START;
    test_1f1b(tap_now);
    test_interleaved(tap_now);
    test_gpipe(tap_now);
    test_rules(tap_now);
    test_random(tap_now);
    return DONE();
}
