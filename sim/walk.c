#include "walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    double posted_s, sent_s; /* NAN: not yet */
} mail;

typedef struct {
    size_t at; /* next action */
    double now_s, busy_s;
    size_t sends, drained; /* sends started; sends known to be complete */
    size_t blocked_on;     /* message, or SIZE_MAX */
    size_t *ring;          /* [send_ring] messages in flight */
} walker;

typedef struct {
    const ar_point *point;
    const ar_layout *layout;
    const ar_plan *plans;
    const ar_walk_costs *costs;
    mail *mails; /* [chunks][2][microbatches], by receiving chunk */
    walker *walkers;
    int32_t *ready; /* stack of ranks that can go on */
    size_t ready_count;
    int64_t messages;
} walk;

static size_t mail_index(const walk *w, int32_t into, bool backward, int32_t microbatch) {
    return ((size_t)into * 2 + backward) * (size_t)w->point->microbatches + (size_t)microbatch;
}

static int32_t mail_into(const walk *w, size_t index) {
    return (int32_t)(index / (size_t)w->point->microbatches / 2);
}

/* When a message whose two ends are known arrives. */
static double arrival(const walk *w, int32_t into, bool backward, int64_t bytes, mail m) {
    const double start_s = m.posted_s > m.sent_s ? m.posted_s : m.sent_s;
    if (!w->costs->link) return start_s;
    const ar_link link = w->costs->link(w->costs->user, into, backward);
    return start_s + link.latency_s + (double)(bytes + AR_ENVELOPE_B) / link.bandwidth_Bps;
}

static void wake(walk *w, int32_t rank, size_t message) {
    if (w->walkers[rank].blocked_on != message) return;
    w->walkers[rank].blocked_on = SIZE_MAX;
    w->ready[w->ready_count++] = rank;
}

/* Wait until at most `keep` sends are in flight; false: blocked. */
static bool drain(walk *w, const ar_plan *plan, walker *me, size_t keep) {
    for (; me->sends - me->drained > keep; me->drained++) {
        const size_t message = me->ring[me->drained % (size_t)plan->send_ring];
        if (isnan(w->mails[message].posted_s)) {
            me->blocked_on = message;
            return false;
        }
        const int32_t into = mail_into(w, message);
        const bool backward = message / (size_t)w->point->microbatches % 2;
        const ar_action got = {.kind = AR_POST, .backward = backward, .chunk = into};
        const double done_s = arrival(
            w, into, backward, ar_plan_message(w->point, w->layout, &got).bytes, w->mails[message]);
        if (done_s > me->now_s) me->now_s = done_s;
    }
    return true;
}

/* Run one action; false: blocked, to be tried again. */
static bool act(walk *w, const ar_plan *plan, walker *me, const ar_action *action) {
    const double start_s = me->now_s;
    ar_message message;
    size_t index;
    switch ((ar_action_kind)action->kind) {
    case AR_COMPUTE:
        me->now_s += (action->backward ? w->costs->backward_s : w->costs->forward_s)[action->chunk];
        me->busy_s += me->now_s - start_s;
        break;
    case AR_POST:
        message = ar_plan_message(w->point, w->layout, action);
        index = mail_index(w, action->chunk, action->backward, action->microbatch);
        w->mails[index].posted_s = me->now_s;
        wake(w, message.peer, index);
        return true;
    case AR_SEND:
        if (!drain(w, plan, me, (size_t)plan->send_ring - 1)) return false;
        message = ar_plan_message(w->point, w->layout, action);
        index = mail_index(w, message.into, action->backward, action->microbatch);
        w->mails[index].sent_s = me->now_s;
        me->ring[me->sends++ % (size_t)plan->send_ring] = index;
        w->messages++;
        wake(w, message.peer, index);
        return true;
    case AR_WAIT:
        index = mail_index(w, action->chunk, action->backward, action->microbatch);
        if (isnan(w->mails[index].sent_s)) {
            me->blocked_on = index;
            return false;
        }
        message = ar_plan_message(w->point, w->layout, action);
        const double done_s =
            arrival(w, action->chunk, action->backward, message.bytes, w->mails[index]);
        if (done_s > me->now_s) me->now_s = done_s;
        break;
    case AR_KEEP:
    case AR_RELEASE:
        return true;
    }
    if (w->costs->event) w->costs->event(w->costs->user, plan->rank, action, start_s, me->now_s);
    return true;
}

static void run_rank(walk *w, int32_t rank) {
    const ar_plan *plan = &w->plans[rank];
    walker *me = &w->walkers[rank];
    while (me->at < plan->count) {
        if (!act(w, plan, me, &plan->action[me->at])) return;
        me->at++;
    }
    drain(w, plan, me, 0);
}

static ar_status stuck(const walk *w, int32_t rank, ar_err *err) {
    const walker *me = &w->walkers[rank];
    const size_t message = me->blocked_on;
    const size_t batches = (size_t)w->point->microbatches;
    return ar_fail(err, AR_ECHECK,
                   "the plan waits in a cycle: rank %d, action %zu of %zu, waits for the %s of the "
                   "%s message into chunk %d of micro-batch %zu",
                   (int)rank, me->at, w->plans[rank].count,
                   isnan(w->mails[message].sent_s) ? "send" : "receive",
                   message / batches % 2 ? "backward" : "forward", (int)mail_into(w, message),
                   message % batches);
}

static bool allocate(walk *w) {
    const size_t ranks = (size_t)w->layout->stages;
    const size_t mails = (size_t)w->layout->chunks * 2 * (size_t)w->point->microbatches;
    w->mails = malloc(mails * sizeof *w->mails);
    w->walkers = calloc(ranks, sizeof *w->walkers);
    w->ready = malloc(ranks * sizeof *w->ready);
    if (!w->mails || !w->walkers || !w->ready) return false;
    for (size_t i = 0; i < mails; i++)
        w->mails[i] = (mail){NAN, NAN};
    for (size_t r = 0; r < ranks; r++) {
        w->walkers[r].blocked_on = SIZE_MAX;
        w->walkers[r].ring = malloc((size_t)w->plans[r].send_ring * sizeof(size_t));
        if (!w->walkers[r].ring) return false;
        w->ready[ranks - 1 - r] = (int32_t)r; /* rank 0 on top */
    }
    w->ready_count = ranks;
    return true;
}

static void release(walk *w) {
    for (int32_t r = 0; w->walkers && r < w->layout->stages; r++)
        free(w->walkers[r].ring);
    free(w->walkers);
    free(w->mails);
    free(w->ready);
}

ar_status ar_walk(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                  const ar_walk_costs *costs, ar_walk_result *result, ar_err *err) {
    walk w = {.point = point, .layout = layout, .plans = plans, .costs = costs};
    if (!allocate(&w)) {
        release(&w);
        return ar_fail(err, AR_ERUN, "out of memory for the critical path of %d ranks",
                       (int)layout->stages);
    }
    while (w.ready_count > 0)
        run_rank(&w, w.ready[--w.ready_count]);
    ar_walk_result found = {.messages = w.messages};
    ar_status status = AR_OK;
    for (int32_t r = 0; r < layout->stages && status == AR_OK; r++) {
        if (w.walkers[r].blocked_on != SIZE_MAX) status = stuck(&w, r, err);
        if (w.walkers[r].now_s > found.step_s) found.step_s = w.walkers[r].now_s;
        found.compute_s += w.walkers[r].busy_s / (double)layout->stages;
    }
    if (found.step_s > 0) found.bubble_percent = 100 * (1 - found.compute_s / found.step_s);
    release(&w);
    if (status == AR_OK) *result = found;
    return status;
}
