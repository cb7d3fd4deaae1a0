#ifndef AR_PLANNED_H
#define AR_PLANNED_H

/* What is known of a point without running it: counts, peaks, critical path. */

#include "result.h"
#include "walk.h"

typedef struct {
    ar_routing_sum hop;       /* one micro-batch, forward */
    int64_t sent_B, messages; /* of one step, all ranks */
    ar_plan_peak peak;        /* of the rank that needs most, each for itself */
    ar_walk_result free;      /* critical path with free communication */
    double layer_flop;
    double paper_elements, exact_elements;
} ar_planned;

/* Plans of all ranks; the caller frees them with ar_plans_free. */
ar_status ar_plans_make(const ar_point *point, const ar_layout *layout, ar_plan **plans,
                        ar_err *err);
void ar_plans_free(ar_plan *plans, int32_t ranks);

/* forward_s, backward_s: [chunks]. */
ar_status ar_planned_make(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                          const double *forward_s, const double *backward_s, ar_planned *planned,
                          ar_err *err);

/* The fields of a result that a plan knows. */
void ar_planned_record(const ar_planned *planned, ar_result *result);

#endif
