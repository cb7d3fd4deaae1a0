#include "measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "planned.h"
#include "step.h"
#include "verify.h"

ar_status ar_agree(ar_status mine, MPI_Comm comm, ar_err *err) {
    int rank = 0, worst = 0;
    const int status = (int)mine;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, comm);
    if (worst == AR_OK) return AR_OK;
    const int me = status == worst ? rank : INT32_MAX;
    int first = 0;
    MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, comm);
    MPI_Bcast(err->text, (int)sizeof err->text, MPI_CHAR, first, comm);
    return (ar_status)worst;
}

ar_status ar_measure_same_point(const ar_point *point, MPI_Comm comm, ar_err *err) {
    char mine[AR_TEXT_MAX], theirs[AR_TEXT_MAX];
    ar_status status = AR_OK;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (size_t i = 0; i < ar_point_fields.count; i++) {
        const ar_field *field = &ar_point_fields.field[i];
        memset(theirs, 0, sizeof theirs);
        ar_field_format(field, point, mine, sizeof mine);
        if (rank == 0) memcpy(theirs, mine, sizeof theirs);
        MPI_Bcast(theirs, (int)sizeof theirs, MPI_CHAR, 0, comm);
        if (status == AR_OK && strcmp(mine, theirs) != 0)
            status = ar_fail(err, AR_EINPUT,
                             "rank %d was given %s = %s, rank 0 was given %s; all ranks must have "
                             "the same point",
                             rank, field->name, mine, theirs);
    }
    return ar_agree(status, comm, err);
}

/* ---- what the runs found ---- */

static double spread(double *step_s, size_t count, double *least, double *most) {
    const double median = ar_median(step_s, count); /* sorts */
    *least = step_s[0];
    *most = step_s[count - 1];
    return median;
}

/* Sums over ranks, on rank 0. */
static void gather_counts(ar_step *step, double *busy_s, int64_t sums[3]) {
    const int64_t mine[3] = {step->transport.sent_B, step->transport.received_B,
                             step->transport.messages};
    MPI_Reduce(mine, sums, 3, MPI_INT64_T, MPI_SUM, 0, step->transport.comm);
    MPI_Reduce(&step->times.busy_s, busy_s, 1, MPI_DOUBLE, MPI_SUM, 0, step->transport.comm);
}

/* Seconds of each chunk's compute in the last run, on rank 0: what was charged where
 * time is modelled or simulated, the mean of what was measured otherwise. */
static void gather_chunk_times(ar_step *step) {
    const ar_layout *layout = &step->layout;
    if (step->point->compute == AR_MODELLED) return; /* every rank has them all */
    for (int32_t c = 0; step->times.chunk_s && c < layout->chunks; c++)
        step->forward_s[c] = step->times.chunk_s[c] / (double)step->point->microbatches;
    for (int32_t c = 0; c < layout->chunks; c++)
        if (layout->chunk[c].rank != step->plan.rank) step->forward_s[c] = 0;
    if (step->plan.rank == 0)
        MPI_Reduce(MPI_IN_PLACE, step->forward_s, layout->chunks, MPI_DOUBLE, MPI_SUM, 0,
                   step->transport.comm);
    else
        MPI_Reduce(step->forward_s, NULL, layout->chunks, MPI_DOUBLE, MPI_SUM, 0,
                   step->transport.comm);
}

/* The rank of the last chunk checks the outputs; rank 0 learns the verdict. */
static ar_status verify(ar_step *step, ar_result *result, ar_err *err) {
    const ar_layout *layout = &step->layout;
    const int last = layout->chunk[layout->chunks - 1].rank;
    ar_verdict verdict = {0};
    ar_status status = AR_OK;
    if (step->plan.rank == last) status = ar_verify(step->point, step->real, &verdict, err);
    status = ar_agree(status, step->transport.comm, err);
    if (status != AR_OK) return status;
    MPI_Bcast(&verdict, (int)sizeof verdict, MPI_BYTE, last, step->transport.comm);
    result->max_rel_error = verdict.max_rel_error;
    result->tolerance = verdict.tolerance;
    snprintf(result->bitwise_equal, sizeof result->bitwise_equal, "%s",
             verdict.bitwise_equal ? "yes" : "no");
    if (!verdict.bitwise_equal)
        ar_result_fail(result, "the output differs from the single-process run");
    if (!(verdict.max_rel_error <= verdict.tolerance))
        ar_result_fail(result, "the output is off the double-precision reference by more than the "
                               "tolerance");
    return AR_OK;
}

/* ---- the timeline ---- */

static void write_events(FILE *out, int rank, const ar_event *event, size_t count) {
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%d,%s,%s,%d,%d,%.9g,%.9g\n", rank,
                event[i].action.kind == AR_COMPUTE ? "compute" : "wait",
                event[i].action.backward ? "backward" : "forward", (int)event[i].action.chunk,
                (int)event[i].action.microbatch, event[i].start_s, event[i].end_s);
}

static ar_status write_trace(ar_step *step, const char *path, ar_err *err) {
    MPI_Comm comm = step->transport.comm;
    const int64_t mine = (int64_t)step->times.events;
    int64_t most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_INT64_T, MPI_MAX, comm);
    if (most * (int64_t)sizeof(ar_event) > INT32_MAX)
        return ar_fail(err, AR_EINPUT, "trace = yes: %lld events on a rank; legal: at most %lld",
                       (long long)most, (long long)(INT32_MAX / (int64_t)sizeof(ar_event)));
    const int tag = 0;
    if (step->plan.rank != 0) {
        MPI_Send(step->times.event, (int)(mine * (int64_t)sizeof(ar_event)), MPI_BYTE, 0, tag,
                 comm);
        return ar_agree(AR_OK, comm, err);
    }
    ar_status status = AR_OK;
    FILE *out = fopen(path, "w");
    ar_event *theirs = malloc((size_t)most * sizeof *theirs + 1);
    if (out) {
        fprintf(out, "rank,kind,pass,chunk,microbatch,start_s,end_s\n");
        write_events(out, 0, step->times.event, step->times.events);
    }
    for (int32_t r = 1; r < step->layout.stages; r++) {
        MPI_Status got;
        int bytes = 0;
        MPI_Recv(theirs, (int)(most * (int64_t)sizeof *theirs), MPI_BYTE, r, tag, comm, &got);
        MPI_Get_count(&got, MPI_BYTE, &bytes);
        if (out) write_events(out, r, theirs, (size_t)bytes / sizeof *theirs);
    }
    free(theirs);
    if (!out || fclose(out) != 0)
        status = ar_fail(err, AR_ERUN, "%s: cannot write the timeline: %s", path, strerror(errno));
    return ar_agree(status, comm, err);
}

/* ---- the whole ---- */

static ar_status load_device(const ar_point *point, ar_device *device, ar_err *err) {
    if (point->compute == AR_REAL || point->forward_time_s > 0) return AR_OK;
    return ar_device_load(point->device, device, point->bad, err);
}

static ar_status open_steps(const ar_point *point, const ar_point *standard, MPI_Comm comm,
                            ar_step *step, ar_step *baseline, ar_err *err) {
    ar_device device = {0};
    ar_status status = load_device(point, &device, err);
    status = ar_agree(status, comm, err);
    if (status != AR_OK) return status;
    status = ar_agree(ar_step_open(step, point, &device, comm, err), comm, err);
    if (status != AR_OK) return status;
    status = ar_agree(ar_step_open(baseline, standard, &device, comm, err), comm, err);
    return status;
}

static void run_all(ar_step *step, ar_step *baseline, ar_result *result, double *step_s,
                    double *standard_s) {
    const size_t repetitions = (size_t)step->point->repetitions;
    const bool same = step->point->mechanism == AR_STANDARD;
    if (!ar_engine_simulates()) { /* a warm-up; simulated time needs none */
        ar_step_run(step);
        ar_step_run(baseline);
    }
    for (size_t k = 0; k < repetitions; k++) {
        step_s[k] = ar_step_run(step);
        standard_s[k] = same ? step_s[k] : ar_step_run(baseline); /* its own baseline */
    }
    double least, most;
    result->standard_step_s = spread(standard_s, repetitions, &least, &most);
    result->step_s = spread(step_s, repetitions, &result->step_min_s, &result->step_max_s);
    result->overhead_percent = 100 * (result->step_s / result->standard_step_s - 1);
}

/* Rank 0 plans for all, to know what the step should have been. */
static ar_status plan_all(const ar_step *step, ar_planned *planned, ar_err *err) {
    ar_plan *plans = NULL;
    ar_status status = ar_plans_make(step->point, &step->layout, &plans, err);
    if (status == AR_OK)
        status = ar_planned_make(step->point, &step->layout, plans, step->forward_s,
                                 step->backward_s, planned, err);
    ar_plans_free(plans, step->layout.stages);
    return status;
}

static void conclude(ar_step *step, const ar_planned *planned, ar_result *result) {
    const double ranks = (double)step->layout.stages;
    double busy_s = 0;
    int64_t sums[3] = {0};
    gather_counts(step, &busy_s, sums);
    result->compute_s = busy_s / ranks;
    result->sent_bytes = (double)sums[0];
    result->messages = (double)sums[2];
    if (step->plan.rank != 0) return;
    result->exposed_comm_s = result->step_s - result->free_s;
    if (sums[0] != planned->sent_B || sums[1] != planned->sent_B)
        ar_result_fail(result, "bytes sent, bytes received and bytes planned are not the same");
    if (sums[2] != planned->messages)
        ar_result_fail(result, "messages sent and messages planned are not the same");
}

ar_status ar_measure(const ar_point *point, MPI_Comm comm, const char *trace_path,
                     ar_result *result, ar_err *err) {
    ar_point standard = *point;
    standard.mechanism = AR_STANDARD;
    standard.trace = 0;
    ar_step step = {0}, baseline = {0};
    double *step_s = calloc((size_t)point->repetitions, sizeof *step_s);
    double *standard_s = calloc((size_t)point->repetitions, sizeof *standard_s);
    ar_status status = step_s && standard_s ? AR_OK : ar_fail(err, AR_ERUN, "out of memory");
    status = ar_agree(status, comm, err);
    if (status == AR_OK) status = open_steps(point, &standard, comm, &step, &baseline, err);
    if (status == AR_OK) {
        run_all(&step, &baseline, result, step_s, standard_s);
        gather_chunk_times(&step);
        ar_planned planned = {0};
        if (step.plan.rank == 0) status = plan_all(&step, &planned, err);
        status = ar_agree(status, comm, err);
        if (status == AR_OK) {
            ar_planned_record(&planned, result);
            conclude(&step, &planned, result);
        }
    }
    if (status == AR_OK && point->trace && trace_path) status = write_trace(&step, trace_path, err);
    if (status == AR_OK && point->compute == AR_REAL) status = verify(&step, result, err);
    ar_step_close(&step);
    ar_step_close(&baseline);
    free(step_s);
    free(standard_s);
    return status;
}
