/* The plan checker must refuse every plan that is wrong. Sound plans are changed by one
 * mutation at a time, at every action of every rank. */

#include "check.h"
#include "points.h"

enum { KINDS = AR_RELEASE + 1, BASES = 12 };
static const char *const kind_names[KINDS] = {"post", "wait", "compute", "send", "keep", "release"};

/* A sound point with all its plans, and room to change one rank's list. */
typedef struct {
    ar_point point;
    ar_layout layout;
    ar_plan *plans;
} base;

static base base_of(ar_point point) {
    base b = {.point = point};
    b.layout = layout_of(&b.point);
    b.plans = plans_of(&b.point, &b.layout);
    return b;
}

static void close_base(base *b) {
    ar_plans_free(b->plans, b->layout.stages);
    ar_layout_free(&b->layout);
}

/* All kinds of plans: caches, passes, schedules, prefetches; figure 3's layers. */
static void open_bases(base bases[BASES]) {
    for (int i = 0; i < BASES; i++) {
        ar_point point = point_of(12, 1, 2, 2 + i % 2, 2, 3);
        point.cache = i % AR_CACHES;
        point.pass = i % 4 < 2 ? AR_TRAIN : AR_FORWARD_ONLY;
        point.prefetch = i % 5 == 0 ? 0 : i % 3;
        point.embedding = i % 5 != 1;
        point.schedule = i % 6 == 5 ? AR_GPIPE : AR_INTERLEAVED;
        if (i == 7) point.mechanism = AR_STANDARD;
        if (i == 8) point.schedule = AR_1F1B, point.virtual_stages = 1;
        bases[i] = base_of(point);
    }
}

/* ---- mutations of one action; false: does not apply there, or changes nothing ---- */

/* Is there a message for this action to post, wait for or send? */
static bool has_message(const base *b, const ar_action *a) {
    const int32_t other = a->chunk + ((a->kind == AR_SEND) == a->backward ? -1 : 1);
    return other >= 0 && other < b->layout.chunks;
}

static bool talks(const ar_action *a) {
    return a->kind == AR_POST || a->kind == AR_WAIT || a->kind == AR_SEND;
}

static bool keeps(const ar_action *a) {
    return a->kind == AR_KEEP || a->kind == AR_RELEASE;
}

typedef bool mutation(const base *b, ar_plan *plan, size_t i);

static bool drop(const base *b, ar_plan *plan, size_t i) {
    (void)b;
    memmove(plan->action + i, plan->action + i + 1, (plan->count - i - 1) * sizeof *plan->action);
    plan->count--;
    return true;
}

static bool twice(const base *b, ar_plan *plan, size_t i) {
    (void)b;
    memmove(plan->action + i + 1, plan->action + i, (plan->count - i) * sizeof *plan->action);
    plan->count++;
    return true;
}

static bool other_batch(const base *b, ar_plan *plan, size_t i) {
    plan->action[i].microbatch = (plan->action[i].microbatch + 1) % (int32_t)b->point.microbatches;
    return true;
}

/* Of a RELEASE, and of an embedding that every rank makes, the chunk is a label. */
static bool is_label(const base *b, const ar_action *a) {
    return a->kind == AR_RELEASE || (a->kind == AR_KEEP && a->from < b->layout.first_source);
}

/* Another chunk of the rank. */
static bool other_chunk(const base *b, ar_plan *plan, size_t i) {
    ar_action *a = &plan->action[i];
    if (is_label(b, a) || b->point.virtual_stages == 1) return false;
    a->chunk = (a->chunk + b->layout.stages) % b->layout.chunks;
    return !talks(a) || has_message(b, a);
}

static bool other_rank(const base *b, ar_plan *plan, size_t i) {
    ar_action *a = &plan->action[i];
    if (is_label(b, a)) return false;
    a->chunk = (a->chunk + 1) % b->layout.chunks;
    return !talks(a) || has_message(b, a);
}

static bool other_pass(const base *b, ar_plan *plan, size_t i) {
    ar_action *a = &plan->action[i];
    a->backward = !a->backward;
    return !keeps(a) && (!talks(a) || has_message(b, a));
}

static bool shift(const base *b, ar_action *a, int32_t from, int32_t to) {
    a->from += from;
    a->to += to;
    return keeps(a) && a->from >= 0 && a->to <= ar_layout_blocks(&b->layout) + 1;
}

static bool from_before(const base *b, ar_plan *plan, size_t i) {
    return shift(b, &plan->action[i], -1, 0);
}

static bool from_behind(const base *b, ar_plan *plan, size_t i) {
    return shift(b, &plan->action[i], 1, 0);
}

static bool to_before(const base *b, ar_plan *plan, size_t i) {
    return shift(b, &plan->action[i], 0, -1);
}

static bool to_behind(const base *b, ar_plan *plan, size_t i) {
    return shift(b, &plan->action[i], 0, 1);
}

/* Swap with the next action where that breaks a dependency. */
static bool too_early(const base *b, ar_plan *plan, size_t i) {
    static const uint8_t ordered[][2] = {
        {AR_POST, AR_WAIT},    {AR_WAIT, AR_KEEP},       {AR_WAIT, AR_COMPUTE},
        {AR_KEEP, AR_COMPUTE}, {AR_COMPUTE, AR_KEEP},    {AR_COMPUTE, AR_SEND},
        {AR_KEEP, AR_SEND},    {AR_COMPUTE, AR_RELEASE}, {AR_KEEP, AR_RELEASE}};
    (void)b;
    if (i + 1 == plan->count) return false;
    const ar_action a = plan->action[i], next = plan->action[i + 1];
    if (a.chunk != next.chunk || a.microbatch != next.microbatch || a.backward != next.backward)
        return false;
    for (size_t k = 0; k < sizeof ordered / sizeof *ordered; k++) {
        if (a.kind != ordered[k][0] || next.kind != ordered[k][1]) continue;
        plan->action[i] = next;
        plan->action[i + 1] = a;
        return true;
    }
    return false;
}

/* Exchange with the next action of its kind: sends of one chunk, receives of any (the
 * transport hands them out in the order of posting). */
static bool reorder(const base *b, ar_plan *plan, size_t i) {
    (void)b;
    const ar_action a = plan->action[i];
    if (!talks(&a)) return false;
    for (size_t j = i + 1; j < plan->count; j++) {
        const ar_action next = plan->action[j];
        if (next.kind != a.kind) continue;
        plan->action[i] = next;
        plan->action[j] = a;
        return a.kind != AR_SEND || (a.chunk == next.chunk && a.backward == next.backward);
    }
    return false;
}

static const struct {
    const char *name;
    mutation *apply;
} mutations[] = {{"dropped", drop},
                 {"twice", twice},
                 {"of another micro-batch", other_batch},
                 {"of another chunk", other_chunk},
                 {"of another rank's chunk", other_rank},
                 {"of the other pass", other_pass},
                 {"from one source earlier", from_before},
                 {"from one source later", from_behind},
                 {"to one source less", to_before},
                 {"to one source more", to_behind},
                 {"before what it needs", too_early},
                 {"in another order", reorder}};

/* Check the base with this list in place of its rank's. */
static bool refused(const base *b, const ar_plan *changed, ar_err *err) {
    const ar_plan sound = b->plans[changed->rank];
    err->text[0] = '\0';
    b->plans[changed->rank] = *changed;
    const ar_status status = ar_plan_check(&b->point, &b->layout, b->plans, err);
    b->plans[changed->rank] = sound;
    return status == AR_ECHECK && err->text[0];
}

static void test_mutations(tap *tap_now, base bases[BASES]) {
    for (size_t m = 0; m < sizeof mutations / sizeof *mutations; m++) {
        int tried[KINDS] = {0}, missed[KINDS] = {0};
        for (int n = 0; n < BASES; n++) {
            const base *b = &bases[n];
            for (int32_t r = 0; r < b->layout.stages; r++) {
                ar_plan changed = b->plans[r];
                const size_t size = changed.count * sizeof *changed.action;
                changed.action = malloc(size + sizeof *changed.action);
                if (!changed.action) abort();
                for (size_t i = 0; i < b->plans[r].count; i++) {
                    const uint8_t kind = b->plans[r].action[i].kind;
                    ar_err err;
                    memcpy(changed.action, b->plans[r].action, size);
                    changed.count = b->plans[r].count;
                    if (!mutations[m].apply(b, &changed, i)) continue;
                    tried[kind]++;
                    if (refused(b, &changed, &err) || missed[kind]++) continue;
                    show_point(&b->point, kind_names[kind]);
                    printf("# rank %d, action %zu\n", (int)r, i);
                }
                free(changed.action);
            }
        }
        for (int kind = 0; kind < KINDS; kind++)
            if (tried[kind])
                OK(missed[kind] == 0, "%s %s: %d plans, %d accepted", kind_names[kind],
                   mutations[m].name, tried[kind], missed[kind]);
    }
}

static void test_sound(tap *tap_now, base bases[BASES]) {
    int passed = 0;
    for (int n = 0; n < BASES; n++) {
        ar_err err;
        passed += ar_plan_check(&bases[n].point, &bases[n].layout, bases[n].plans, &err) == AR_OK;
    }
    OK(passed == BASES, "the plans are sound before and after");
}

int main(void) {
    TAP_START;
    base bases[BASES];
    open_bases(bases);
    test_sound(tap_now, bases);
    test_mutations(tap_now, bases);
    test_sound(tap_now, bases);
    for (int n = 0; n < BASES; n++)
        close_base(&bases[n]);
    return DONE();
}
