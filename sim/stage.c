#include "stage.h"

static void act(const ar_point *point, const ar_layout *layout, const ar_work *work,
                ar_transport *transport, const ar_action *action) {
    ar_message message;
    const void *received;
    void *buffer;
    switch ((ar_action_kind)action->kind) {
    case AR_POST:
        message = ar_plan_message(point, layout, action);
        ar_transport_post(transport, &message);
        break;
    case AR_WAIT:
        message = ar_plan_message(point, layout, action);
        received = ar_transport_wait(transport);
        if (work->unpack) work->unpack(work->self, action, &message, received);
        break;
    case AR_COMPUTE:
        work->compute(work->self, action, ar_transport_progress, transport);
        break;
    case AR_SEND:
        message = ar_plan_message(point, layout, action);
        buffer = ar_transport_reserve(transport);
        if (work->pack) work->pack(work->self, action, &message, buffer);
        ar_transport_send(transport, &message);
        break;
    case AR_KEEP:
        if (work->keep) work->keep(work->self, action);
        break;
    case AR_RELEASE:
        if (work->release) work->release(work->self, action);
        break;
    }
}

void ar_stage_run(const ar_point *point, const ar_layout *layout, const ar_plan *plan,
                  const ar_work *work, ar_transport *transport, ar_stage_times *times) {
    ar_transport_reset(transport);
    times->busy_s = 0;
    for (int32_t c = 0; times->chunk_s && c < layout->chunks; c++)
        times->chunk_s[c] = 0;
    times->events = 0;
    const double zero_s = ar_engine_start(transport->comm);
    for (size_t i = 0; i < plan->count; i++) {
        const ar_action *action = &plan->action[i];
        const bool timed = action->kind == AR_COMPUTE || (times->event && action->kind == AR_WAIT);
        const double start_s = timed ? ar_engine_now_s() : 0;
        act(point, layout, work, transport, action);
        if (!timed) continue;
        const double end_s = ar_engine_now_s();
        if (action->kind == AR_COMPUTE) {
            times->busy_s += end_s - start_s;
            if (times->chunk_s && !action->backward)
                times->chunk_s[action->chunk] += end_s - start_s;
        }
        if (times->event)
            times->event[times->events++] = (ar_event){*action, start_s - zero_s, end_s - zero_s};
    }
    ar_transport_finish(transport);
    times->step_s = ar_engine_now_s() - zero_s;
}
