/* Block AttnRes: layer l, the i-th of block n, attends over source[0..n-1] and, from
 * i = 2 on, over the partial sum b that source[n] holds. v_1 is written there at once,
 * so it is the partial sum without a copy; v_2.. are added by the next layer's input
 * or by finish. Source: paper, section 4.2, Algorithm 1. */

#include "back_pass.h"
#include "mechanisms.h"
#include "pass.h"
#include "traffic.h"

typedef struct {
    size_t n, i; /* layer l is the i-th of block n, both from 1 */
} place;

static place place_of(const ar_depth *m, size_t l) {
    return (place){(l - 1) / m->block + 1, (l - 1) % m->block + 1};
}

/* m->v where it holds the output of layer l - 1, not yet in the partial sum. */
static void *pending(const ar_depth *m, size_t l) {
    return l > m->first && place_of(m, l).i > 2 ? m->v : NULL;
}

static void *output(ar_depth *m, size_t l) {
    const place at = place_of(m, l);
    return at.i == 1 ? m->source[at.n] : m->v;
}

/* Reads b and v, writes b: 3; nothing when the block's only layer so far is the first. */
static void finish(ar_depth *m, size_t last) {
    const place at = place_of(m, last);
    if (at.i > 1) ar_pass_add(m, m->source[at.n], m->v);
}

static const void *head(ar_depth *m) {
    const size_t blocks = (m->layers + m->block - 1) / m->block;
    return ar_attend_one(m, m->layers + 1, blocks + 1, NULL);
}

/* Phase 1: reads n, writes one o for each layer of the segment. */
static void two_phase_start(ar_depth *m, size_t first, size_t last) {
    m->first = first;
    ar_attend_many(m, place_of(m, first).n, first, last);
}

/* Phase 2, in place in o. i = 1: nothing. No v pending: reads b and o, writes o: 3. Else
 * reads b, v and o, writes b and o: 5. */
static const void *two_phase_input(ar_depth *m, size_t l) {
    const place at = place_of(m, l);
    if (at.i == 1) return ar_attended(m, l);
    return ar_merge_in(m, l, m->source + at.n, 1, pending(m, l));
}

static void one_pass_start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* Reads n sources and b (from i = 2 on), writes h; where v is pending reads it, writes b, and
 * h takes its place. */
static const void *one_pass_input(ar_depth *m, size_t l) {
    const place at = place_of(m, l);
    return ar_attend_one(m, l, at.i == 1 ? at.n : at.n + 1, pending(m, l));
}

const ar_mechanism ar_block_two_phase = {AR_BLOCK,        "block", AR_TWO_PHASE, two_phase_start,
                                         two_phase_input, output,  finish,       head};
const ar_mechanism ar_block_one_pass = {AR_BLOCK,       "block", AR_ONE_PASS, one_pass_start,
                                        one_pass_input, output,  finish,      head};

/* Per block the cheaper of the two. */
static bool one_pass(const ar_depth *m, size_t l) {
    return ar_traffic_auto(m->block, place_of(m, l).n, m->balance) == AR_ONE_PASS;
}
static void auto_start(ar_depth *m, size_t first, size_t last) {
    (one_pass(m, first) ? one_pass_start : two_phase_start)(m, first, last);
}
static const void *auto_input(ar_depth *m, size_t l) {
    return (one_pass(m, l) ? one_pass_input : two_phase_input)(m, l);
}

const ar_mechanism ar_block_auto = {AR_BLOCK,   "block", AR_AUTO, auto_start,
                                    auto_input, output,  finish,  head};

/* ---- backward ---- */

/* source[n]'s gradient is that of the partial sum: complete for layers from l on when they have
 * been absorbed, and then that of v_l, too. */

static const void *back_output(ar_back *b, size_t l) {
    return b->grad[place_of(b->depth, l).n];
}

/* i = 1: dot, which reads dh and h. Else reads dh, h, the partial sum and its gradient, writes
 * the latter: 5. Sigmoid reads no h: nothing, and 4. */
static void two_phase_absorb(ar_back *b, size_t l) {
    const ar_depth *const m = b->depth;
    const place at = place_of(m, l);
    if (at.i == 1) {
        ar_back_dot(b, l);
        return;
    }
    ar_pass_partial_back(m, &(ar_partial_back){.width = m->width,
                                               .dh = ar_back_gathered(b, l),
                                               .h = m->variant.sigmoid ? NULL : b->h[l - 1],
                                               .x = b->partial[l - 1],
                                               .query = m->query + (l - 1) * m->width,
                                               .max = ar_statistics(m, m->max, l),
                                               .sum = ar_statistics(m, m->sum, l),
                                               .dot = b->dot + (l - b->first) * m->tokens,
                                               .grad = b->grad[at.n],
                                               .dquery = b->dquery + (l - 1) * m->width,
                                               .variant = m->variant});
}

/* The finished sources: reads 2n and a dh for each layer, writes n. */
static void two_phase_finish(ar_back *b) {
    ar_back_attend(b, 0, place_of(b->depth, b->first).n, NULL, b->first, b->last);
}

/* Over all of n sources, with the partial sum from i = 2 on: dot, and reads 2n + 1, writes n. */
static void one_pass_absorb(ar_back *b, size_t l) {
    const place at = place_of(b->depth, l);
    ar_back_dot(b, l);
    if (at.i == 1)
        ar_back_attend(b, 0, at.n, NULL, l, l);
    else
        ar_back_attend(b, 0, at.n + 1, b->partial[l - 1], l, l);
}

static void one_pass_finish(ar_back *b) {
    (void)b;
}

static void back_head(ar_back *b, const void *out, const void *dout) {
    const ar_depth *const m = b->depth;
    ar_back_head(b, (m->layers + m->block - 1) / m->block + 1, out, dout);
}

#define BACK(of, absorbs, finishes)                                                                \
    {                                                                                              \
        .id = AR_BLOCK, .form = of, .grouped = true, .output = back_output,                        \
        .input = ar_back_gathered, .absorb = absorbs, .finish = finishes, .head = back_head        \
    }
const ar_backward ar_block_two_phase_back = BACK(AR_TWO_PHASE, two_phase_absorb, two_phase_finish);
const ar_backward ar_block_one_pass_back = BACK(AR_ONE_PASS, one_pass_absorb, one_pass_finish);
const ar_backward ar_block_auto_back = BACK(AR_AUTO, two_phase_absorb, two_phase_finish);
