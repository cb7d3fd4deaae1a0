#include "plan.h"

#include <stdlib.h>

enum { ACTIONS_PER_TASK = 7 };

static void add(ar_plan *plan, ar_action_kind kind, ar_task task, int32_t from, int32_t to) {
    if ((kind == AR_KEEP || kind == AR_RELEASE) && from >= to) return;
    plan->action[plan->count++] = (ar_action){.kind = (uint8_t)kind,
                                              .backward = task.backward,
                                              .chunk = task.chunk,
                                              .microbatch = task.microbatch,
                                              .from = from,
                                              .to = to};
}

/* Does a message come into this task, and does one leave it? */
static bool task_receives(const ar_layout *layout, ar_task task) {
    const int32_t from = task.backward ? task.chunk + 1 : task.chunk - 1;
    return from >= 0 && from < layout->chunks &&
           layout->chunk[from].rank != layout->chunk[task.chunk].rank;
}

static bool task_sends(const ar_layout *layout, ar_task task) {
    const int32_t to = task.backward ? task.chunk - 1 : task.chunk + 1;
    return to >= 0 && to < layout->chunks &&
           layout->chunk[to].rank != layout->chunk[task.chunk].rank;
}

/* Sources finished when the chunk starts. */
static int32_t history_before(const ar_layout *layout, int32_t c) {
    if (c > 0) return layout->chunk[c - 1].history;
    return layout->block > 0 ? 1 : 0;
}

/* Sources below this are on the rank when chunk c starts. In training every source
 * that a chunk read stays for that chunk's backward, whatever the policy. */
static int32_t kept_before(const ar_point *point, const ar_layout *layout, int32_t c) {
    const int32_t previous = layout->chunk[c].previous;
    if (previous < 0) return 0;
    if (point->pass == AR_TRAIN) return layout->chunk[previous].history;
    return ar_routing_known(layout, (ar_cache)point->cache, c);
}

static void add_task(const ar_point *point, const ar_layout *layout, ar_task task, ar_plan *plan) {
    const int32_t c = task.chunk, next = layout->chunk[c].next;
    const int32_t before = history_before(layout, c), after = layout->chunk[c].history;
    const int32_t kept = kept_before(point, layout, c);
    if (task_receives(layout, task)) add(plan, AR_WAIT, task, 0, 0);
    if (!task.backward) add(plan, AR_KEEP, task, kept, before);
    add(plan, AR_COMPUTE, task, 0, 0);
    if (!task.backward) add(plan, AR_KEEP, task, before, after);
    if (task_sends(layout, task)) add(plan, AR_SEND, task, 0, 0);
    if (point->pass == AR_TRAIN) {
        if (task.backward) add(plan, AR_RELEASE, task, kept, after);
    } else {
        const int32_t stays = next < 0 ? 0 : kept_before(point, layout, next);
        add(plan, AR_RELEASE, task, stays, after);
    }
}

/* A rank whose chunk hands over to the next round of chunks waits for the receiver
 * to come round; the others' messages are consumed a few tasks later. */
static int32_t ring_size(const ar_point *point, const ar_layout *layout, int32_t rank) {
    const int64_t p = point->stages;
    const bool wraps = layout->stages > 1 && point->virtual_stages > 1 &&
                       (rank == 0 || rank == layout->stages - 1);
    int64_t ring = wraps ? 2 * p + 8 : 8;
    if (wraps && point->schedule == AR_GPIPE) ring += point->microbatches;
    return (int32_t)ring;
}

ar_status ar_plan_make(const ar_point *point, const ar_layout *layout, int32_t rank, ar_plan *plan,
                       ar_err *err) {
    ar_tasks tasks;
    const ar_status status = ar_schedule_make(point, layout, rank, &tasks, err);
    if (status != AR_OK) return status;
    ar_plan made = {.rank = rank,
                    .send_ring = ring_size(point, layout, rank),
                    .receives = (int32_t)point->prefetch + 1,
                    .action = calloc(tasks.count * ACTIONS_PER_TASK + 1, sizeof *made.action)};
    if (!made.action) {
        ar_tasks_free(&tasks);
        return ar_fail(err, AR_ERUN, "out of memory for a plan of %zu tasks", tasks.count);
    }
    size_t posted = 0;
    for (size_t i = 0; i < tasks.count; i++) {
        for (; posted < tasks.count && posted <= i + (size_t)point->prefetch; posted++)
            if (task_receives(layout, tasks.task[posted]))
                add(&made, AR_POST, tasks.task[posted], 0, 0);
        add_task(point, layout, tasks.task[i], &made);
    }
    ar_tasks_free(&tasks);
    *plan = made;
    return AR_OK;
}

void ar_plan_free(ar_plan *plan) {
    free(plan->action);
    plan->action = NULL;
}

ar_message ar_plan_message(const ar_point *point, const ar_layout *layout,
                           const ar_action *action) {
    const bool sends = action->kind == AR_SEND;
    const int32_t step = (action->backward ? -1 : 1) * (sends ? 1 : -1);
    const int32_t other = action->chunk + step;
    ar_message message = {.peer = layout->chunk[other].rank,
                          .into = sends ? other : action->chunk,
                          .hop = ar_routing_hop(layout, (ar_cache)point->cache,
                                                other < action->chunk ? other : action->chunk)};
    message.tag = 2 * message.into + (action->backward ? 1 : 0);
    message.bytes = ar_routing_bytes(point, ar_hop_vectors(message.hop));
    return message;
}

ar_plan_sent ar_plan_sends(const ar_point *point, const ar_layout *layout, const ar_plan *plan) {
    ar_plan_sent sent = {0};
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->action[i].kind != AR_SEND) continue;
        sent.messages++;
        sent.bytes += ar_plan_message(point, layout, &plan->action[i]).bytes;
    }
    return sent;
}

ar_plan_peak ar_plan_memory(const ar_point *point, const ar_layout *layout, const ar_plan *plan) {
    ar_plan_peak peak = {0};
    int64_t kept = 0, live = 0, most_sent = 0, most_received = 0, sends = 0, receives = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const ar_action *action = &plan->action[i];
        const ar_chunk *chunk = &layout->chunk[action->chunk];
        const int64_t vectors = 2 * (int64_t)(chunk->last - chunk->first + 1);
        int64_t bytes;
        switch ((ar_action_kind)action->kind) {
        case AR_KEEP:
            kept += action->to - action->from;
            break;
        case AR_RELEASE:
            kept -= action->to - action->from;
            break;
        case AR_COMPUTE:
            if (point->pass == AR_TRAIN && !action->backward) live += vectors;
            break;
        case AR_SEND:
            bytes = ar_plan_message(point, layout, action).bytes;
            if (bytes > most_sent) most_sent = bytes;
            sends++;
            break;
        case AR_POST:
            bytes = ar_plan_message(point, layout, action).bytes;
            if (bytes > most_received) most_received = bytes;
            receives++;
            break;
        case AR_WAIT:
            break;
        }
        if (ar_routing_bytes(point, kept) > peak.cache_B)
            peak.cache_B = ar_routing_bytes(point, kept);
        if (ar_routing_bytes(point, live) > peak.activation_B)
            peak.activation_B = ar_routing_bytes(point, live);
        if (action->kind == AR_COMPUTE && action->backward) live -= vectors;
    }
    if (sends > plan->send_ring) sends = plan->send_ring;
    if (receives > plan->receives) receives = plan->receives;
    peak.message_B = sends * most_sent + receives * most_received;
    return peak;
}
