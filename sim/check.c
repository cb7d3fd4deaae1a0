#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "walk.h"

/* What is known of one rank while its list is read. */
typedef struct {
    const ar_point *point;
    const ar_layout *layout;
    uint8_t *present;                 /* [microbatches][sources] of this rank */
    uint8_t *done;                    /* [2][chunks][microbatches] computed; all ranks */
    int32_t *posts, *sends;           /* [tags][microbatches] order of micro-batches */
    int32_t *post_count, *send_count; /* [tags] */
    uint8_t *arrived;                 /* [tags][microbatches] waited for */
    ar_action *pending;               /* [receives] posted and not yet waited for, a ring */
    int32_t posted, taken;            /* of this rank */
    int64_t sent_B;
    int32_t sources;
} checker;

static ar_status wrong(const ar_plan *plan, size_t i, const char *what, int32_t source,
                       ar_err *err) {
    const ar_action *action = &plan->action[i];
    return ar_fail(err, AR_ECHECK,
                   "plan of rank %d, action %zu (chunk %d, micro-batch %d, %s): %s (source %d)",
                   (int)plan->rank, i, (int)action->chunk, (int)action->microbatch,
                   action->backward ? "backward" : "forward", what, (int)source);
}

static uint8_t *done_flag(const checker *k, bool backward, int32_t chunk, int32_t microbatch) {
    const size_t batches = (size_t)k->point->microbatches;
    return &k->done[((size_t)backward * (size_t)k->layout->chunks + (size_t)chunk) * batches +
                    (size_t)microbatch];
}

static ar_status check_present(const checker *k, const ar_plan *plan, size_t i, int32_t from,
                               int32_t to, uint8_t wanted, const char *what, ar_err *err) {
    const size_t row = (size_t)plan->action[i].microbatch * (size_t)k->sources;
    for (int32_t s = from; s < to; s++)
        if (k->present[row + (size_t)s] != wanted) return wrong(plan, i, what, s, err);
    return AR_OK;
}

/* Is there a message for a POST, WAIT, SEND; or, for a COMPUTE, one that comes into it? */
static bool has_message(const checker *k, const ar_action *a) {
    const int32_t other = a->chunk + ((a->kind == AR_SEND) == a->backward ? -1 : 1);
    return other >= 0 && other < k->layout->chunks &&
           k->layout->chunk[other].rank != k->layout->chunk[a->chunk].rank;
}

/* Everything that an action indexes with is in range and of this rank. */
static ar_status check_named(const checker *k, const ar_plan *plan, size_t i, ar_err *err) {
    const ar_action *a = &plan->action[i];
    if (a->kind > AR_RELEASE) return wrong(plan, i, "no such kind of action", -1, err);
    if (a->microbatch < 0 || a->microbatch >= k->point->microbatches || a->chunk < 0 ||
        a->chunk >= k->layout->chunks)
        return wrong(plan, i, "no such chunk or micro-batch", -1, err);
    if (k->layout->chunk[a->chunk].rank != plan->rank)
        return wrong(plan, i, "the chunk is another rank's", -1, err);
    if (a->kind == AR_KEEP || a->kind == AR_RELEASE) {
        if (a->from < 0 || a->from >= a->to || a->to > k->sources)
            return wrong(plan, i, "no such range of sources", a->from, err);
    } else if (a->kind != AR_COMPUTE && !has_message(k, a)) {
        return wrong(plan, i, "no message crosses there", -1, err);
    }
    return AR_OK;
}

static uint8_t *arrived_flag(const checker *k, const ar_action *a) {
    return &k->arrived[(size_t)(2 * a->chunk + a->backward) * (size_t)k->point->microbatches +
                       (size_t)a->microbatch];
}

static ar_status check_post(checker *k, const ar_plan *plan, size_t i, ar_err *err) {
    if (k->posted - k->taken == plan->receives)
        return wrong(plan, i, "more receives are posted than there are buffers", -1, err);
    k->pending[k->posted++ % plan->receives] = plan->action[i];
    return AR_OK;
}

/* The transport hands messages out in the order of posting. */
static ar_status check_wait(checker *k, const ar_plan *plan, size_t i, ar_err *err) {
    const ar_action *a = &plan->action[i];
    if (k->taken == k->posted) return wrong(plan, i, "waits, but nothing is posted", -1, err);
    const ar_action *first = &k->pending[k->taken++ % plan->receives];
    if (first->chunk != a->chunk || first->microbatch != a->microbatch ||
        first->backward != a->backward)
        return wrong(plan, i, "waits in another order than posted", -1, err);
    *arrived_flag(k, a) = 1;
    return AR_OK;
}

/* A source comes with the message, is made by the chunk, or is an embedding that
 * the rank makes itself. */
static bool has_origin(const checker *k, const ar_action *a, int32_t source) {
    const int32_t before = a->chunk > 0 ? k->layout->chunk[a->chunk - 1].history : 1;
    if (*done_flag(k, false, a->chunk, a->microbatch))
        return source >= before && source < k->layout->chunk[a->chunk].history;
    if (source == 0 && (a->chunk == 0 || k->layout->first_source > 0)) return true;
    if (a->chunk == 0 ||
        !*arrived_flag(k, &(ar_action){.chunk = a->chunk, .microbatch = a->microbatch}))
        return false;
    const ar_hop hop = ar_routing_hop(k->layout, (ar_cache)k->point->cache, a->chunk - 1);
    return source >= hop.from && source < hop.to;
}

static ar_status check_compute(checker *k, const ar_plan *plan, size_t i, ar_err *err) {
    const ar_action *a = &plan->action[i];
    uint8_t *done = done_flag(k, a->backward, a->chunk, a->microbatch);
    if (*done) return wrong(plan, i, "the chunk is computed twice", -1, err);
    if (a->backward && !*done_flag(k, false, a->chunk, a->microbatch))
        return wrong(plan, i, "backward before forward", -1, err);
    if (has_message(k, a) && !*arrived_flag(k, a))
        return wrong(plan, i, "the chunk is computed before its message is there", -1, err);
    *done = 1;
    if (k->layout->block == 0) return AR_OK;
    const int32_t reads = a->backward    ? k->layout->chunk[a->chunk].history
                          : a->chunk > 0 ? k->layout->chunk[a->chunk - 1].history
                                         : 1;
    return check_present(k, plan, i, 0, reads, 1, "a source that the chunk reads is absent", err);
}

static ar_status check_action(checker *k, const ar_plan *plan, size_t i, ar_err *err) {
    const ar_action *a = &plan->action[i];
    const size_t batches = (size_t)k->point->microbatches;
    const size_t row = (size_t)a->microbatch * (size_t)k->sources;
    ar_status status = check_named(k, plan, i, err);
    ar_message message;
    if (status != AR_OK) return status;
    switch ((ar_action_kind)a->kind) {
    case AR_POST:
        message = ar_plan_message(k->point, k->layout, a);
        if (k->post_count[message.tag] == (int32_t)batches)
            return wrong(plan, i, "posted too often", -1, err);
        k->posts[(size_t)message.tag * batches + (size_t)k->post_count[message.tag]++] =
            a->microbatch;
        status = check_post(k, plan, i, err);
        break;
    case AR_SEND:
        message = ar_plan_message(k->point, k->layout, a);
        if (k->send_count[message.tag] == (int32_t)batches)
            return wrong(plan, i, "sent too often", -1, err);
        k->sends[(size_t)message.tag * batches + (size_t)k->send_count[message.tag]++] =
            a->microbatch;
        k->sent_B += message.bytes;
        if (!*done_flag(k, a->backward, a->chunk, a->microbatch))
            return wrong(plan, i, "sent before it is computed", -1, err);
        if (!a->backward)
            status = check_present(k, plan, i, message.hop.from, message.hop.to, 1,
                                   "a source that the message carries is absent", err);
        break;
    case AR_KEEP:
        for (int32_t s = a->from; s < a->to; s++)
            if (!has_origin(k, a, s)) return wrong(plan, i, "kept, but from nowhere", s, err);
        status = check_present(k, plan, i, a->from, a->to, 0, "kept twice", err);
        if (status == AR_OK) memset(k->present + row + a->from, 1, (size_t)(a->to - a->from));
        break;
    case AR_RELEASE:
        status = check_present(k, plan, i, a->from, a->to, 1, "released, but absent", err);
        if (status == AR_OK) memset(k->present + row + a->from, 0, (size_t)(a->to - a->from));
        break;
    case AR_COMPUTE:
        status = check_compute(k, plan, i, err);
        break;
    case AR_WAIT:
        status = check_wait(k, plan, i, err);
        break;
    }
    return status;
}

static ar_status check_rank(checker *k, const ar_plan *plan, ar_err *err) {
    const size_t cells = (size_t)k->point->microbatches * (size_t)k->sources;
    memset(k->present, 0, cells);
    k->posted = k->taken = 0;
    free(k->pending);
    k->pending = malloc((size_t)(plan->receives > 0 ? plan->receives : 1) * sizeof *k->pending);
    if (!k->pending) return ar_fail(err, AR_ERUN, "out of memory for the plan checker");
    for (size_t i = 0; i < plan->count; i++) {
        const ar_status status = check_action(k, plan, i, err);
        if (status != AR_OK) return status;
    }
    if (k->posted != k->taken)
        return ar_fail(err, AR_ECHECK, "plan of rank %d: %d receives are posted, %d waited for",
                       (int)plan->rank, (int)k->posted, (int)k->taken);
    for (size_t i = 0; i < cells; i++)
        if (k->present[i])
            return ar_fail(err, AR_ECHECK,
                           "plan of rank %d: source %zu of micro-batch %zu is never released",
                           (int)plan->rank, i % (size_t)k->sources, i / (size_t)k->sources);
    return AR_OK;
}

static ar_status check_totals(const checker *k, ar_err *err) {
    const size_t batches = (size_t)k->point->microbatches;
    const int passes = k->point->pass == AR_TRAIN ? 2 : 1;
    for (int32_t tag = 0; tag < 2 * k->layout->chunks; tag++) {
        const int32_t sent = k->send_count[tag], posted = k->post_count[tag];
        if (sent != posted ||
            memcmp(k->sends + (size_t)tag * batches, k->posts + (size_t)tag * batches,
                   (size_t)sent * sizeof *k->sends) != 0)
            return ar_fail(err, AR_ECHECK,
                           "%s messages into chunk %d: %d sent, %d received, or in another order",
                           tag % 2 ? "backward" : "forward", (int)(tag / 2), (int)sent,
                           (int)posted);
    }
    for (int pass = 0; pass < passes; pass++)
        for (int32_t c = 0; c < k->layout->chunks; c++)
            for (int32_t m = 0; m < k->point->microbatches; m++)
                if (!*done_flag(k, pass, c, m))
                    return ar_fail(err, AR_ECHECK, "chunk %d never computes micro-batch %d (%s)",
                                   (int)c, (int)m, pass ? "backward" : "forward");
    const int64_t planned = ar_routing_total(k->point, k->layout, (ar_cache)k->point->cache).bytes *
                            k->point->microbatches * passes;
    if (k->sent_B != planned)
        return ar_fail(err, AR_ECHECK, "the plan sends %lld bytes, the routing table says %lld",
                       (long long)k->sent_B, (long long)planned);
    return AR_OK;
}

ar_status ar_plan_check(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                        ar_err *err) {
    const size_t batches = (size_t)point->microbatches, chunks = (size_t)layout->chunks;
    checker k = {.point = point, .layout = layout, .sources = ar_layout_blocks(layout) + 1};
    k.present = calloc(batches, (size_t)k.sources);
    k.done = calloc(2 * chunks, batches);
    k.arrived = calloc(2 * chunks, batches);
    k.posts = calloc(2 * chunks * batches, sizeof *k.posts);
    k.sends = calloc(2 * chunks * batches, sizeof *k.sends);
    k.post_count = calloc(2 * chunks, sizeof *k.post_count);
    k.send_count = calloc(2 * chunks, sizeof *k.send_count);
    double *zero_s = calloc(chunks, sizeof *zero_s);
    ar_status status = AR_OK;
    if (!k.present || !k.arrived || !k.done || !k.posts || !k.sends || !k.post_count ||
        !k.send_count || !zero_s)
        status = ar_fail(err, AR_ERUN, "out of memory for the plan checker");
    for (int32_t r = 0; r < layout->stages && status == AR_OK; r++)
        status = plans[r].rank == r
                     ? check_rank(&k, &plans[r], err)
                     : ar_fail(err, AR_ECHECK, "plan %d is of rank %d", (int)r, (int)plans[r].rank);
    if (status == AR_OK) status = check_totals(&k, err);
    if (status == AR_OK) {
        ar_walk_result result;
        const ar_walk_costs free_costs = {.forward_s = zero_s, .backward_s = zero_s};
        status = ar_walk(point, layout, plans, &free_costs, &result, err);
    }
    free(k.present);
    free(k.done);
    free(k.arrived);
    free(k.pending);
    free(k.posts);
    free(k.sends);
    free(k.post_count);
    free(k.send_count);
    free(zero_s);
    return status;
}
