#ifndef AR_MEASURE_H
#define AR_MEASURE_H

/* A point, measured on all ranks: the step and, in turn with it, the same step with
 * the standard residual. */

#include <mpi.h>

#include "result.h"

/* Collective. The result is filled on rank 0 only, except for what the front door
 * adds (bound, engine wall time). trace_path: where rank 0 writes the timeline if
 * the point asks for one; NULL: nowhere. A result that contradicts the plan or the
 * reference is marked failed; a failure to run is the status, the same on all ranks. */
ar_status ar_measure(const ar_point *point, MPI_Comm comm, const char *trace_path,
                     ar_result *result, ar_err *err);

/* The worst status of all ranks, with the message of the lowest rank that has it. */
ar_status ar_agree(ar_status mine, MPI_Comm comm, ar_err *err);

/* Every rank must have been given the same point. */
ar_status ar_measure_same_point(const ar_point *point, MPI_Comm comm, ar_err *err);

#endif
