/* Full AttnRes: layer l attends over source[0..l-1], the embedding and every earlier
 * layer's output, which is written in its place. Layers are answered in groups of S. */

#include "mechanisms.h"
#include "pass.h"

static void *output(ar_depth *m, size_t l) {
    return m->source[l];
}

static void finish(ar_depth *m, size_t last) {
    (void)m;
    (void)last;
}

/* Reads l, writes h. */
static const void *one_pass_input(ar_depth *m, size_t l) {
    ar_attend_one(m, l, l, NULL);
    return m->h;
}

static const void *head(ar_depth *m) {
    return one_pass_input(m, m->layers + 1);
}

static void one_pass_start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* The first layer of l's group: sources before it are finished when the group starts. */
static size_t group_of(const ar_depth *m, size_t l) {
    return l - (l - 1) % m->block;
}

/* Phase 1 over the g sources before the group: reads g, writes one o for each layer. */
static void two_phase_start(ar_depth *m, size_t first, size_t last) {
    m->first = first;
    ar_attend_many(m, group_of(m, first), first, last);
}

/* Phase 2 over the k sources of the group so far: reads k and o, writes o. In a segment
 * that starts inside its group these are merged as they would have been without the cut,
 * so that the bits do not depend on it. */
static const void *two_phase_input(ar_depth *m, size_t l) {
    const size_t group = group_of(m, l);
    if (l == group) return ar_attended(m, l);
    return ar_merge_in(m, l, m->source + group, l - group, NULL);
}

const ar_mechanism ar_full_two_phase = {AR_FULL,         "full", AR_TWO_PHASE, two_phase_start,
                                        two_phase_input, output, finish,       head};
const ar_mechanism ar_full_one_pass = {AR_FULL,        "full", AR_ONE_PASS, one_pass_start,
                                       one_pass_input, output, finish,      head};
