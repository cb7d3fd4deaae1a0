#ifndef AR_STEP_H
#define AR_STEP_H

/* One pipeline step of a point on this rank: opened once, run as often as wanted. */

#include "device.h"
#include "stage.h"
#include "work_modelled.h"
#include "work_real.h"

typedef struct {
    const ar_point *point;
    ar_layout layout;
    ar_plan plan;
    ar_modelled modelled;
    ar_real *real; /* NULL where compute is modelled */
    ar_work work;
    ar_transport transport;
    double *forward_s, *backward_s; /* [chunks], seconds of a compute: all chunks' where
                                       modelled, this rank's where real */
    ar_stage_times times;           /* of the last run */
} ar_step;

/* Collective. device is read for modelled compute. On failure nothing is left open. */
ar_status ar_step_open(ar_step *step, const ar_point *point, const ar_device *device, MPI_Comm comm,
                       ar_err *err);
void ar_step_close(ar_step *step);

/* Run once; returns the step's seconds, the longest of all ranks, on all ranks. */
double ar_step_run(ar_step *step);

#endif
