#ifndef AR_STAGE_H
#define AR_STAGE_H

/* One rank's run of its plan. */

#include "transport.h"
#include "work.h"

/* One compute or wait, seconds since the step's start. */
typedef struct {
    ar_action action;
    double start_s, end_s;
} ar_event;

typedef struct {
    double step_s;   /* from the common start to this rank's end */
    double busy_s;   /* computing */
    double *chunk_s; /* [chunks] of busy_s, forward; the caller's, or NULL */
    ar_event *event; /* [events] if the caller gave room, else NULL */
    size_t events;
} ar_stage_times;

/* times->chunk_s is set to this rank's sums; times->event: NULL, or room for plan->count events.
 * Collective. */
void ar_stage_run(const ar_point *point, const ar_layout *layout, const ar_plan *plan,
                  const ar_work *work, ar_transport *transport, ar_stage_times *times);

#endif
