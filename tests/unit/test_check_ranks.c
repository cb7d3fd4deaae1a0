/* The plan checker, on faults between ranks: work on the wrong rank, cycles of waits,
 * buffers that do not suffice, and actions that name nothing. */

#include "check.h"
#include "points.h"

#include <sys/wait.h>
#include <unistd.h>

/* The checker's answer; its message goes to *err. */
static ar_status answer(const ar_point *point, const ar_plan *plans, ar_err *err) {
    ar_layout layout = layout_of(point);
    err->text[0] = '\0';
    const ar_status status = ar_plan_check(point, &layout, plans, err);
    ar_layout_free(&layout);
    return status;
}

static bool refused(const ar_point *point, const ar_plan *plans, const char *message) {
    ar_err err;
    const ar_status status = answer(point, plans, &err);
    if (status == AR_ECHECK && has(err.text, message)) return true;
    printf("# status %d\n", (int)status);
    return false;
}

/* Two ranks, one chunk each, two micro-batches. */
static ar_point two_ranks(int schedule, int pass) {
    ar_point point = point_of(4, 1, 1, 2, 1, 2);
    point.schedule = schedule;
    point.pass = pass;
    point.prefetch = 0;
    return point;
}

static ar_plan *open_plans(const ar_point *point) {
    ar_layout layout = layout_of(point);
    ar_plan *plans = plans_of(point, &layout);
    ar_layout_free(&layout);
    return plans;
}

/* First action of that kind, from i on. */
static size_t find(const ar_plan *plan, size_t i, ar_action_kind kind, bool backward) {
    while (i < plan->count &&
           (plan->action[i].kind != kind || plan->action[i].backward != backward))
        i++;
    return i;
}

/* ---- the wrong rank ---- */

static void test_exchanged(tap *tap_now) {
    for (int pass = AR_FORWARD_ONLY; pass <= AR_TRAIN; pass++) {
        const ar_point point = two_ranks(AR_1F1B, pass);
        ar_plan *plans = open_plans(&point);
        ar_plan kept = plans[0];
        plans[0].action = plans[1].action, plans[0].count = plans[1].count;
        plans[1].action = kept.action, plans[1].count = kept.count;
        OK(refused(&point, plans, "rank"), "two ranks run each other's list, pass %d", pass);
        plans[0].rank = 1, plans[1].rank = 0;
        OK(refused(&point, plans, "rank"), "and carry each other's number");
        ar_plans_free(plans, 2);
    }
}

/* Each action in turn goes to the next rank's list, at the same place. */
static void test_moved(tap *tap_now) {
    static const char *const names[] = {"post", "wait", "compute", "send", "keep", "release"};
    int tried[AR_RELEASE + 1] = {0}, missed[AR_RELEASE + 1] = {0};
    for (int pass = AR_FORWARD_ONLY; pass <= AR_TRAIN; pass++) {
        ar_point point = point_of(12, 1, 2, 3, 2, 3);
        point.pass = pass;
        ar_plan *plans = open_plans(&point);
        for (int32_t r = 0; r < 3; r++) {
            ar_plan *from = &plans[r], *to = &plans[(r + 1) % 3];
            const ar_plan from_before = *from, to_before = *to;
            for (size_t i = 0; i < from_before.count; i++) {
                const uint8_t kind = from_before.action[i].kind;
                const size_t at = i < to_before.count ? i : to_before.count;
                ar_err err;
                from->action = malloc(from_before.count * sizeof *from->action);
                to->action = malloc((to_before.count + 1) * sizeof *to->action);
                if (!from->action || !to->action) abort();
                from->count = 0;
                for (size_t k = 0; k < from_before.count; k++)
                    if (k != i) from->action[from->count++] = from_before.action[k];
                to->count = 0;
                for (size_t k = 0; k <= to_before.count; k++) {
                    if (k == at) to->action[to->count++] = from_before.action[i];
                    if (k < to_before.count) to->action[to->count++] = to_before.action[k];
                }
                tried[kind]++;
                missed[kind] += answer(&point, plans, &err) != AR_ECHECK;
                free(from->action);
                free(to->action);
                *from = from_before;
                *to = to_before;
            }
        }
        ar_plans_free(plans, 3);
    }
    for (int kind = 0; kind <= AR_RELEASE; kind++)
        OK(tried[kind] > 0 && missed[kind] == 0, "%s on the wrong rank: %d plans, %d accepted",
           names[kind], tried[kind], missed[kind]);
}

/* The receiver takes the second micro-batch first: right for itself, but messages of one
 * tag come in the order of sending. */
static void test_order(tap *tap_now) {
    for (int pass = AR_FORWARD_ONLY; pass <= AR_TRAIN; pass++) {
        const ar_point point = two_ranks(AR_GPIPE, pass);
        ar_plan *plans = open_plans(&point);
        for (size_t i = 0; i < plans[1].count; i++)
            plans[1].action[i].microbatch = 1 - plans[1].action[i].microbatch;
        OK(refused(&point, plans, "another order"), "micro-batches in another order, pass %d",
           pass);
        ar_plans_free(plans, 2);
    }
}

/* ---- cycles ---- */

/* Rank 1 does both forwards first, rank 0 its first backward before its second forward. */
static void test_cycle(tap *tap_now) {
    const ar_point point = two_ranks(AR_GPIPE, AR_TRAIN);
    ar_plan *plans = open_plans(&point);
    ar_plan *plan = &plans[0];
    const size_t second = find(plan, find(plan, 0, AR_SEND, false) + 1, AR_KEEP, false);
    const size_t back = find(plan, 0, AR_POST, true);
    const size_t end = find(plan, 0, AR_RELEASE, true) + 1, moved = end - back;
    ar_action group[16];
    memcpy(group, plan->action + back, moved * sizeof *group);
    memmove(plan->action + second + moved, plan->action + second, (back - second) * sizeof *group);
    memcpy(plan->action + second, group, moved * sizeof *group);
    OK(refused(&point, plans, "the plan waits in a cycle: rank 0") &&
           refused(&point, plans, "waits for the send of the backward message into chunk 0"),
       "a swap that makes ranks wait for each other is named a cycle");
    ar_plans_free(plans, 2);
}

/* gpipe on two ranks with two chunks: rank 1 hands over all of its first chunk before
 * rank 0 takes any of it. A ring of one send cannot. */
static void test_ring(tap *tap_now) {
    ar_point point = point_of(8, 1, 2, 2, 2, 4);
    point.schedule = AR_GPIPE;
    point.prefetch = 0;
    ar_plan *plans = open_plans(&point);
    ar_err err;
    OK(answer(&point, plans, &err) == AR_OK, "the plan's own ring suffices");
    plans[0].send_ring = plans[1].send_ring = 1;
    OK(refused(&point, plans, "cycle") && refused(&point, plans, "waits for the receive"),
       "a ring of one send makes a cycle");
    ar_plans_free(plans, 2);
}

/* The transport has so many receive buffers and no more. */
static void test_receives(tap *tap_now) {
    for (int64_t prefetch = 0; prefetch <= 3; prefetch++) {
        ar_point point = point_of(4, 1, 1, 2, 1, 6);
        ar_err err;
        point.pass = AR_FORWARD_ONLY;
        point.prefetch = prefetch;
        ar_plan *plans = open_plans(&point);
        OK(answer(&point, plans, &err) == AR_OK, "prefetch %lld: the receives suffice",
           (long long)prefetch);
        plans[1].receives = (int32_t)prefetch;
        OK(refused(&point, plans, "receive"), "one buffer less does not");
        ar_plans_free(plans, 2);
    }
}

/* ---- actions that name nothing: in a child, since they may end it ---- */

static bool refused_in_child(const ar_point *point, const ar_plan *plans) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        ar_err err;
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        _exit(answer(point, plans, &err) == AR_ECHECK && err.text[0] ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void test_nonsense(tap *tap_now) {
    static const struct {
        const char *name;
        ar_action action;
    } nonsense[] = {
        {"chunk -1", {.kind = AR_COMPUTE, .chunk = -1}},
        {"chunk C", {.kind = AR_COMPUTE, .chunk = 2}},
        {"micro-batch -1", {.kind = AR_COMPUTE, .microbatch = -1}},
        {"micro-batch M", {.kind = AR_COMPUTE, .microbatch = 2}},
        {"source -1", {.kind = AR_KEEP, .from = -1, .to = 1}},
        {"source N+1", {.kind = AR_KEEP, .from = 0, .to = 1 << 28}},
        {"an empty range", {.kind = AR_RELEASE, .from = 2, .to = 1}},
        {"a receive into chunk 0", {.kind = AR_POST}},
        {"a wait into chunk 0", {.kind = AR_WAIT}},
        {"a gradient out of chunk 0", {.kind = AR_SEND, .backward = true}},
        {"no kind", {.kind = AR_RELEASE + 1}},
    };
    for (size_t n = 0; n < sizeof nonsense / sizeof *nonsense; n++) {
        const ar_point point = two_ranks(AR_1F1B, AR_TRAIN);
        ar_plan *plans = open_plans(&point);
        ar_action *longer = malloc((plans[0].count + 1) * sizeof *longer);
        if (!longer) abort();
        longer[0] = nonsense[n].action;
        memcpy(longer + 1, plans[0].action, plans[0].count * sizeof *longer);
        free(plans[0].action);
        plans[0].action = longer;
        plans[0].count++;
        OK(refused_in_child(&point, plans), "%s is refused", nonsense[n].name);
        ar_plans_free(plans, 2);
    }
    const ar_point point = two_ranks(AR_1F1B, AR_FORWARD_ONLY);
    ar_plan *plans = open_plans(&point);
    ar_action *longer = malloc(1000 * sizeof *longer);
    if (!longer) abort();
    for (size_t i = 0; i < 1000; i++)
        longer[i] = (ar_action){.kind = AR_POST, .chunk = 1};
    free(plans[1].action);
    plans[1].action = longer;
    plans[1].count = 1000;
    OK(refused_in_child(&point, plans), "a thousand receives of two messages are refused");
    ar_plans_free(plans, 2);
}

int main(void) {
    TAP_START;
    test_exchanged(tap_now);
    test_moved(tap_now);
    test_order(tap_now);
    test_cycle(tap_now);
    test_ring(tap_now);
    test_receives(tap_now);
    test_nonsense(tap_now);
    return DONE();
}
