#include "planned.h"

#include <stdlib.h>

#include "traffic.h"

ar_status ar_plans_make(const ar_point *point, const ar_layout *layout, ar_plan **plans,
                        ar_err *err) {
    ar_plan *made = calloc((size_t)layout->stages, sizeof *made);
    if (!made) return ar_fail(err, AR_ERUN, "out of memory for %d plans", (int)layout->stages);
    for (int32_t r = 0; r < layout->stages; r++) {
        const ar_status status = ar_plan_make(point, layout, r, &made[r], err);
        if (status == AR_OK) continue;
        ar_plans_free(made, layout->stages);
        return status;
    }
    *plans = made;
    return AR_OK;
}

void ar_plans_free(ar_plan *plans, int32_t ranks) {
    for (int32_t r = 0; plans && r < ranks; r++)
        ar_plan_free(&plans[r]);
    free(plans);
}

static void raise(int64_t *peak, int64_t value) {
    if (value > *peak) *peak = value;
}

/* Per layer, over all chunks: cuts inside a block cost what they cost. */
static void count_traffic(const ar_point *point, const ar_layout *layout, ar_planned *planned) {
    const ar_mechanism_id id = (ar_mechanism_id)point->mechanism;
    const ar_form form = (ar_form)point->form;
    const size_t layers = (size_t)point->layers, block = (size_t)point->block;
    const size_t streams = (size_t)point->streams;
    planned->paper_elements =
        ar_traffic_paper(id, form, layers, block, streams, (size_t)point->width);
    for (int32_t c = 0; c < layout->chunks; c++)
        planned->exact_elements +=
            ar_traffic_exact(id, form, layers, block, streams, (size_t)layout->chunk[c].first,
                             (size_t)layout->chunk[c].last) /
            (double)layers;
}

ar_status ar_planned_make(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                          const double *forward_s, const double *backward_s, ar_planned *planned,
                          ar_err *err) {
    ar_planned made = {.hop = ar_routing_total(point, layout, (ar_cache)point->cache),
                       .layer_flop = point->layer_flop};
    for (int32_t r = 0; r < layout->stages; r++) {
        const ar_plan_sent sent = ar_plan_sends(point, layout, &plans[r]);
        const ar_plan_peak peak = ar_plan_memory(point, layout, &plans[r]);
        made.sent_B += sent.bytes;
        made.messages += sent.messages;
        raise(&made.peak.cache_B, peak.cache_B);
        raise(&made.peak.activation_B, peak.activation_B);
        raise(&made.peak.message_B, peak.message_B);
    }
    count_traffic(point, layout, &made);
    const ar_walk_costs costs = {.forward_s = forward_s, .backward_s = backward_s};
    const ar_status status = ar_walk(point, layout, plans, &costs, &made.free, err);
    if (status == AR_OK) *planned = made;
    return status;
}

void ar_planned_record(const ar_planned *planned, ar_result *result) {
    result->free_s = planned->free.step_s;
    result->bubble_percent = planned->free.bubble_percent;
    result->planned_bytes = (double)planned->sent_B;
    result->hop_blocks = (double)planned->hop.blocks;
    result->hop_partial = (double)planned->hop.partial;
    result->hop_vectors = (double)planned->hop.vectors;
    result->formula_vectors = planned->hop.formula_vectors;
    result->peak_hop_vectors = (double)planned->hop.peak_vectors;
    result->peak_hop_bytes = planned->hop.vectors > 0
                                 ? (double)planned->hop.bytes / (double)planned->hop.vectors *
                                       (double)planned->hop.peak_vectors
                                 : 0;
    result->peak_cache_bytes = (double)planned->peak.cache_B;
    result->peak_activation_bytes = (double)planned->peak.activation_B;
    result->peak_message_bytes = (double)planned->peak.message_B;
    result->paper_elements = planned->paper_elements;
    result->exact_elements = planned->exact_elements;
    result->layer_flop = planned->layer_flop;
}
