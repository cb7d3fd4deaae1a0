/* The critical path: closed forms of the schedules, hops by hand, and a naive simulation
 * that replays every list from the start until nothing changes. */

#include "points.h"

#include <math.h>

enum { CHUNKS = 64 };

/* Seconds of every chunk, and of every message. */
typedef struct {
    double forward_s[CHUNKS], backward_s[CHUNKS];
    ar_link link[CHUNKS][2];
} costs;

static ar_link link_of(void *user, int32_t into, bool backward) {
    return ((const costs *)user)->link[into][backward];
}

static costs equal_costs(double forward_s, double backward_s, ar_link link) {
    costs c;
    for (int i = 0; i < CHUNKS; i++) {
        c.forward_s[i] = forward_s;
        c.backward_s[i] = backward_s;
        c.link[i][0] = c.link[i][1] = link;
    }
    return c;
}

/* Walk the point; ring > 0 replaces the plans' own rings. */
static ar_walk_result walk(const ar_point *point, costs *c, bool free, int32_t ring,
                           ar_event_fn *event) {
    const ar_walk_costs how = {.forward_s = c->forward_s,
                               .backward_s = c->backward_s,
                               .link = free ? NULL : link_of,
                               .event = event,
                               .user = c};
    ar_walk_result result = {.step_s = NAN};
    ar_err err = {""};
    ar_layout layout = layout_of(point);
    ar_plan *plans = plans_of(point, &layout);
    for (int32_t r = 0; ring > 0 && r < layout.stages; r++)
        plans[r].send_ring = ring;
    if (ar_walk(point, &layout, plans, &how, &result, &err) != AR_OK) printf("# %s\n", err.text);
    ar_plans_free(plans, layout.stages);
    ar_layout_free(&layout);
    return result;
}

static bool near(double x, double expected) {
    const bool same = fabs(x - expected) <= 1e-12 * fabs(expected);
    if (!same) printf("# got %.17g, expected %.17g\n", x, expected);
    return same;
}

/* ---- bubbles: free communication, equal stages ---- */

/* All times are small whole numbers: sums are exact. */
static bool is_step(const ar_point *point, double f, double b, double step_s) {
    costs c = equal_costs(f, b, (ar_link){0, INFINITY});
    const ar_walk_result result = walk(point, &c, true, 0, NULL);
    const double work_s =
        (double)(point->virtual_stages * point->microbatches) * (f + (point->pass ? b : 0));
    const bool same = result.step_s == step_s && near(result.compute_s, work_s) &&
                      fabs(result.bubble_percent - 100 * (1 - work_s / step_s)) < 1e-9;
    if (!same) {
        show_point(point, "step");
        printf("# f=%g b=%g: step %g, expected %g\n", f, b, result.step_s, step_s);
    }
    return same;
}

static void test_bubbles(tap *tap_now) {
    static const double times[][2] = {{1, 2}, {3, 2}};
    int wrong_1f1b = 0, wrong_gpipe = 0, wrong_interleaved = 0, wrong_forward = 0;
    for (size_t t = 0; t < sizeof times / sizeof *times; t++)
        for (int64_t P = 1; P <= 7; P += 1 + P / 3)
            for (int64_t M = 1; M <= 11; M += 1 + M / 4)
                for (int64_t V = 1; V <= 3; V++) {
                    const double f = times[t][0], b = times[t][1];
                    const double p = (double)P, m = (double)M, v = (double)V;
                    ar_point point = point_of(P * V, 1, 1, P, V, M);
                    point.schedule = AR_1F1B;
                    if (V == 1) wrong_1f1b += !is_step(&point, f, b, (m + p - 1) * (f + b));
                    /* a chunk's turn waits for the turn before it to come round */
                    point.schedule = AR_GPIPE;
                    const double turns = (v - 1) * fmax(m, p) + m + p - 1;
                    wrong_gpipe += !is_step(&point, f, b, turns * (f + b));
                    point.schedule = AR_INTERLEAVED;
                    point.microbatches = M * P;
                    wrong_interleaved += !is_step(&point, f, b, (v * m * p + p - 1) * (f + b));
                    point.pass = AR_FORWARD_ONLY;
                    wrong_forward += !is_step(&point, f, b, (v * m * p + p - 1) * f);
                }
    OK(wrong_1f1b == 0, "1f1b: the step is (M + P - 1) (f + b)");
    OK(wrong_gpipe == 0, "gpipe: ((V-1) max(M, P) + M + P - 1) (f + b)");
    OK(wrong_interleaved == 0, "interleaved: (V M + P - 1) (f + b) for M a multiple of P");
    OK(wrong_forward == 0, "forward only: (V M + P - 1) f");
    ar_point point = point_of(4, 1, 1, 4, 1, 8);
    costs c = equal_costs(1, 2, (ar_link){0, INFINITY});
    OK(near(walk(&point, &c, true, 0, NULL).bubble_percent, 100 * 3.0 / 11), "P=4, M=8: 3/11");
    point = point_of(8, 1, 1, 4, 2, 8);
    OK(near(walk(&point, &c, true, 0, NULL).bubble_percent, 100 * 3.0 / 19), "V=2: 3/19");
}

/* ---- hops by hand ---- */

static void test_hop(tap *tap_now) {
    const ar_link link = {3e-6, 450e9};
    costs c = equal_costs(0.25, 0.5, link);
    ar_point point = point_of(4, 1, 1, 2, 1, 1); /* the hop carries b0 b1 b2 */
    point.width = 4096;
    point.pass = AR_FORWARD_ONLY;
    const double hop_s = 3e-6 + (3 * 4 * 4096 * 4 + 16) / 450e9;
    c.forward_s[1] = 0.125;
    ar_walk_result result = walk(&point, &c, false, 0, NULL);
    OK(near(result.step_s, 0.25 + hop_s + 0.125) && result.messages == 1,
       "two ranks, one message: compute + L + (n + 16)/B");
    OK(near(result.compute_s, (0.25 + 0.125) / 2), "compute is the mean over ranks");
    point.pass = AR_TRAIN;
    result = walk(&point, &c, false, 0, NULL);
    OK(near(result.step_s, 0.375 + hop_s + 1 + hop_s) && result.messages == 2,
       "training: and back, the same bytes");
    c.link[0][1] = (ar_link){1, INFINITY};
    OK(near(walk(&point, &c, false, 0, NULL).step_s, 0.375 + hop_s + 1 + 1),
       "the way back has its own route");
    point.pass = AR_FORWARD_ONLY;
    c.link[1][0].latency_s = 0;
    const double fast_s = walk(&point, &c, false, 0, NULL).step_s - 0.375;
    c.link[1][0].bandwidth_Bps = 225e9;
    OK(fabs(walk(&point, &c, false, 0, NULL).step_s - 0.375 - 2 * fast_s) < 1e-15,
       "half the bandwidth without latency: twice the time");
    OK(near(walk(&point, &c, true, 0, NULL).step_s, 0.375), "free: none");
}

/* Two ranks, f = 1 and 1, a message takes 0.5 from the later of its two ends. */
static void test_prefetch(tap *tap_now) {
    costs c = equal_costs(1, 1, (ar_link){0.5, INFINITY});
    ar_point point = point_of(4, 1, 1, 2, 1, 2);
    point.pass = AR_FORWARD_ONLY;
    point.prefetch = 0;
    /* rank 1: post 0, arrives 1.5, computes to 2.5; posts then, 2nd arrives 3, ends 4 */
    OK(near(walk(&point, &c, false, 0, NULL).step_s, 4), "prefetch 0: the hop is not hidden");
    point.prefetch = 1; /* both posted at 0: the 2nd, sent at 2, is there at 2.5 */
    OK(near(walk(&point, &c, false, 0, NULL).step_s, 3.5), "prefetch 1: it is");
    point.prefetch = 7;
    OK(near(walk(&point, &c, false, 0, NULL).step_s, 3.5), "more does not help");
}

/* Events as "rank kind start-end". */
static char events[2048];

static void note(void *user, int32_t rank, const ar_action *action, double start_s, double end_s) {
    const size_t used = strlen(events);
    (void)user;
    snprintf(events + used, sizeof events - used, "%d%c%d.%d %g-%g\n", (int)rank,
             action->kind == AR_COMPUTE ? 'C'
             : action->kind == AR_WAIT  ? 'W'
                                        : '?',
             (int)action->chunk, (int)action->microbatch, start_s, end_s);
}

/* Rank 1 is slow and takes one message at a time: posts at 0, 11.5, 22, 32.5. Behind a
 * ring of one, the 3rd send waits for the 2nd to arrive, at 12. */
static void test_ring(tap *tap_now) {
    costs c = equal_costs(1, 1, (ar_link){0.5, INFINITY});
    ar_point point = point_of(4, 1, 1, 2, 1, 4);
    point.pass = AR_FORWARD_ONLY;
    point.prefetch = 0;
    c.forward_s[1] = 10;
    events[0] = '\0';
    OK(near(walk(&point, &c, false, 0, note).step_s, 43), "slow receiver: 1.5 + 4 x 10 + 3 x 0.5");
    OK(has(events, "0C0.2 2-3\n") && has(events, "0C0.3 3-4\n"), "the plan's ring: no wait");
    OK(has(events, "1W1.0 0-1.5\n") && has(events, "1W1.1 11.5-12\n") &&
           has(events, "1C1.3 33-43\n") && !strchr(events, '?'),
       "events: computes and waits as they end");
    events[0] = '\0';
    OK(near(walk(&point, &c, false, 1, note).step_s, 43), "a ring of one: the same step");
    OK(has(events, "0C0.2 2-3\n") && has(events, "0C0.3 12-13\n"),
       "but the sender's 4th compute waits for its 2nd message");
}

/* ---- a naive simulation ---- */

typedef struct {
    double posted_s, sent_s; /* INFINITY: not yet */
} letter;

static letter letters[CHUNKS][2][16];

/* When a message arrives: INFINITY while one of its ends is unknown. */
static double arrives(const ar_point *point, const ar_layout *layout, const costs *c, bool free,
                      int32_t into, bool backward, int32_t microbatch) {
    const letter l = letters[into][backward][microbatch];
    const ar_hop hop = ar_routing_hop(layout, (ar_cache)point->cache, backward ? into : into - 1);
    const double bytes = (double)ar_hop_vectors(hop) * VECTOR_B;
    const ar_link link = c->link[into][backward];
    return fmax(l.posted_s, l.sent_s) +
           (free ? 0 : link.latency_s + (bytes + 16) / link.bandwidth_Bps);
}

/* Replay a rank's list from time 0 as far as is known; its end, or INFINITY. */
static double replay(const ar_point *point, const ar_layout *layout, const ar_plan *plan,
                     const costs *c, bool free, bool *changed) {
    static int32_t sent[4096][3]; /* into, backward, micro-batch */
    int32_t sends = 0;
    double now_s = 0;
    for (size_t i = 0; i < plan->count && now_s < INFINITY; i++) {
        const ar_action a = plan->action[i];
        letter *l = &letters[a.chunk][a.backward][a.microbatch];
        if (a.kind == AR_COMPUTE) now_s += (a.backward ? c->backward_s : c->forward_s)[a.chunk];
        if (a.kind == AR_WAIT)
            now_s = fmax(now_s, arrives(point, layout, c, free, a.chunk, a.backward, a.microbatch));
        if (a.kind == AR_POST) {
            *changed |= l->posted_s != now_s;
            l->posted_s = now_s;
        }
        if (a.kind != AR_SEND) continue;
        if (sends >= plan->send_ring) {
            const int32_t *old = sent[sends - plan->send_ring];
            now_s = fmax(now_s, arrives(point, layout, c, free, old[0], old[1], old[2]));
        }
        const int32_t into = a.chunk + (a.backward ? -1 : 1);
        sent[sends][0] = into, sent[sends][1] = a.backward, sent[sends++][2] = a.microbatch;
        l = &letters[into][a.backward][a.microbatch];
        if (now_s < INFINITY) *changed |= l->sent_s != now_s;
        l->sent_s = now_s;
    }
    for (int32_t s = 0; s < sends; s++)
        now_s = fmax(now_s, arrives(point, layout, c, free, sent[s][0], sent[s][1], sent[s][2]));
    return now_s;
}

static double simulate(const ar_point *point, const costs *c, bool free, int32_t ring) {
    ar_layout layout = layout_of(point);
    ar_plan *plans = plans_of(point, &layout);
    for (int i = 0; i < CHUNKS; i++)
        for (int k = 0; k < 2 * 16; k++)
            letters[i][k / 16][k % 16] = (letter){INFINITY, INFINITY};
    double step_s = 0;
    for (bool changed = true; changed;) {
        changed = false;
        step_s = 0;
        for (int32_t r = 0; r < layout.stages; r++) {
            if (ring > 0) plans[r].send_ring = ring;
            step_s = fmax(step_s, replay(point, &layout, &plans[r], c, free, &changed));
        }
    }
    ar_plans_free(plans, layout.stages);
    ar_layout_free(&layout);
    return step_s;
}

static void test_random(tap *tap_now) {
    uint64_t state = 17;
    int wrong = 0, shorter = 0, cycles = 0, unnoticed = 0;
    for (int i = 0; i < 400; i++) {
        const ar_point point = point_at_random(&state);
        const int32_t ring = i % 3 ? 0 : 1;
        costs c;
        for (int k = 0; k < CHUNKS; k++) {
            c.forward_s[k] = (double)dice(&state, 1000) * 1e-3;
            c.backward_s[k] = (double)dice(&state, 1000) * 2e-3;
            for (int back = 0; back < 2; back++)
                c.link[k][back] =
                    (ar_link){(double)dice(&state, 100) * 1e-2, 1e3 + (double)dice(&state, 100000)};
        }
        const double step_s = simulate(&point, &c, false, ring);
        if (isinf(step_s)) { /* too short a ring */
            unnoticed += !isnan(walk(&point, &c, false, ring, NULL).step_s);
            cycles++;
            continue;
        }
        const double walked_s = walk(&point, &c, false, ring, NULL).step_s;
        const double free_s = walk(&point, &c, true, ring, NULL).step_s;
        if ((!near(walked_s, step_s) || !near(free_s, simulate(&point, &c, true, ring))) &&
            !wrong++)
            show_point(&point, "walk");
        shorter += walked_s < free_s;
    }
    OK(wrong == 0, "400 random points, uneven chunks and links: as the naive simulation");
    OK(shorter == 0, "communication never shortens a step");
    OK(cycles > 0 && cycles < 40 && unnoticed == 0, "%d short rings make cycles: refused", cycles);
}

int main(void) {
    TAP_START;
    test_bubbles(tap_now);
    test_hop(tap_now);
    test_prefetch(tap_now);
    test_ring(tap_now);
    test_random(tap_now);
    return DONE();
}
