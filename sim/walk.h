#ifndef AR_WALK_H
#define AR_WALK_H

/* The step's critical path: every rank's list walked in the order of its
 * dependencies, messages never sharing a link. It is a lower bound of any run of
 * the same plan, and equals a simulation in which no two messages share a link. */

#include "plan.h"

typedef struct {
    double latency_s, bandwidth_Bps; /* INFINITY: free */
} ar_link;

/* The route of the forward (backward) message into a chunk. */
typedef ar_link ar_link_fn(void *user, int32_t into, bool backward);

/* One compute or wait, as it ends. */
typedef void ar_event_fn(void *user, int32_t rank, const ar_action *action, double start_s,
                         double end_s);

typedef struct {
    const double *forward_s, *backward_s; /* [chunks] */
    ar_link_fn *link;                     /* NULL: communication is free */
    ar_event_fn *event;                   /* may be NULL */
    void *user;                           /* handed to link and event */
} ar_walk_costs;

typedef struct {
    double step_s;         /* the last rank's end */
    double compute_s;      /* mean over ranks */
    double bubble_percent; /* share of step_s in which a rank does not compute, mean over ranks */
    int64_t messages;
} ar_walk_result;

/* plans: [stages]. Fails with AR_ECHECK, naming who waits for what, when the lists
 * wait for each other. */
ar_status ar_walk(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                  const ar_walk_costs *costs, ar_walk_result *result, ar_err *err);

/* Seconds of a message of n bytes: L + (n + 16)/B; the engine adds an envelope. */
enum { AR_ENVELOPE_B = 16 };

#endif
