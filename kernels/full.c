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
    return ar_attend_one(m, l, l, NULL);
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

/* ---- backward ---- */

/* A source's gradient gathers what its later layers of the segment give, when its output is
 * asked for; sources before the segment get theirs at its end. Segments are groups of S layers
 * (two-phase) or the chunk (one-pass). */

/* The last layer of the segment that reads source i > 0. */
static size_t last_reader(const ar_back *b, size_t i) {
    const size_t window = b->depth->variant.window;
    return window > 0 && window < b->last - i ? i + window : b->last;
}

/* k later layers: reads k + 2, writes 1; nothing for the last. */
static const void *back_output(ar_back *b, size_t l) {
    const bool own = b->depth->variant.own_query;
    if (l < b->last && !own) ar_back_attend(b, l, 1, NULL, l + 1, last_reader(b, l));
    return b->grad[l];
}

/* Reads dh and h; a layer of own queries goes over its sources at once. */
static void back_absorb(ar_back *b, size_t l) {
    ar_back_dot(b, l);
    if (b->depth->variant.own_query) ar_back_attend(b, 0, l, NULL, l, l);
}

/* Reads 2 first and a dh for each layer, writes first. With a window the embedding is read
 * by all, the others one by one by those that reach them. */
static void back_finish(ar_back *b) {
    const ar_variant *const variant = &b->depth->variant;
    if (variant->own_query) return;
    if (!variant->window) {
        ar_back_attend(b, 0, b->first, NULL, b->first, b->last);
        return;
    }
    ar_back_attend(b, 0, 1, NULL, b->first, b->last);
    for (size_t i = 1; i < b->first; i++)
        if (variant->window >= b->first - i)
            ar_back_attend(b, i, 1, NULL, b->first, last_reader(b, i));
}

static void back_head(ar_back *b, const void *out, const void *dout) {
    ar_back_head(b, b->depth->layers + 1, out, dout);
}

const ar_backward ar_full_two_phase_back = {.id = AR_FULL,
                                            .form = AR_TWO_PHASE,
                                            .grouped = true,
                                            .output = back_output,
                                            .input = ar_back_gathered,
                                            .absorb = back_absorb,
                                            .finish = back_finish,
                                            .head = back_head};
const ar_backward ar_full_one_pass_back = {.id = AR_FULL,
                                           .form = AR_ONE_PASS,
                                           .output = back_output,
                                           .input = ar_back_gathered,
                                           .absorb = back_absorb,
                                           .finish = back_finish,
                                           .head = back_head};
