#include "step.h"

#include <stdlib.h>
#include <string.h>

#include "price.h"

static ar_status open_work(ar_step *step, const ar_device *device, int32_t rank, ar_err *err) {
    const ar_layout *layout = &step->layout;
    if (step->point->compute == AR_REAL) {
        const ar_status status =
            ar_real_open(step->point, layout, rank, step->forward_s, &step->real, err);
        if (status == AR_OK) step->work = ar_work_real(step->real);
        return status;
    }
    for (int32_t c = 0; c < layout->chunks; c++) {
        const ar_price price = ar_price_chunk(step->point, device, layout, c);
        step->forward_s[c] = price.forward_s;
        step->backward_s[c] = price.backward_s;
    }
    step->modelled = (ar_modelled){step->forward_s, step->backward_s};
    step->work = ar_work_modelled(&step->modelled);
    return AR_OK;
}

ar_status ar_step_open(ar_step *step, const ar_point *point, const ar_device *device, MPI_Comm comm,
                       ar_err *err) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    memset(step, 0, sizeof *step);
    step->point = point;
    ar_status status = ar_layout_make(point, &step->layout, err);
    if (status != AR_OK) return status;
    step->forward_s = calloc((size_t)step->layout.chunks, sizeof *step->forward_s);
    step->backward_s = calloc((size_t)step->layout.chunks, sizeof *step->backward_s);
    if (point->compute == AR_REAL && !ar_engine_simulates())
        step->times.chunk_s = calloc((size_t)step->layout.chunks, sizeof(double));
    if (!step->forward_s || !step->backward_s) status = ar_fail(err, AR_ERUN, "out of memory");
    if (status == AR_OK) status = ar_plan_make(point, &step->layout, rank, &step->plan, err);
    if (status == AR_OK) status = open_work(step, device, rank, err);
    if (status == AR_OK)
        status = ar_transport_open(&step->transport, comm, point, &step->layout, &step->plan,
                                   point->compute == AR_REAL, err);
    if (status == AR_OK && point->trace) {
        step->times.event = calloc(step->plan.count + 1, sizeof *step->times.event);
        if (!step->times.event)
            status = ar_fail(err, AR_ERUN, "out of memory for %zu events", step->plan.count);
    }
    if (status != AR_OK) ar_step_close(step);
    return status;
}

void ar_step_close(ar_step *step) {
    ar_real_close(step->real);
    ar_transport_close(&step->transport);
    ar_plan_free(&step->plan);
    ar_layout_free(&step->layout);
    free(step->forward_s);
    free(step->backward_s);
    free(step->times.event);
    free(step->times.chunk_s);
    memset(step, 0, sizeof *step);
}

double ar_step_run(ar_step *step) {
    double longest_s = 0;
    ar_stage_run(step->point, &step->layout, &step->plan, &step->work, &step->transport,
                 &step->times);
    MPI_Allreduce(&step->times.step_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, step->transport.comm);
    return longest_s;
}
