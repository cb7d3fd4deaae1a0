#include "memory.h"

#include <stdio.h>

#include "layer.h"

/* Weights of layers first..last. */
static double weight_floats(const ar_point *point, int64_t first, int64_t last) {
    double floats = 0;
    for (int64_t l = first; l <= last; l++)
        floats += (double)ar_layer_weights((size_t)point->width, (size_t)l);
    return floats;
}

static double real_B(const ar_point *point, const ar_layout *layout, const ar_plan *plan) {
    const double vector = (double)point->tokens * (double)point->width;
    double floats = (double)(point->layers + 1) * (double)point->width;
    for (int32_t c = 0; c < layout->chunks; c++)
        if (layout->chunk[c].rank == plan->rank)
            floats += weight_floats(point, layout->chunk[c].first, layout->chunk[c].last);
    floats += (double)ar_layer_scratch((size_t)point->tokens, (size_t)point->width);
    floats += 2 * (double)(point->block * point->tokens);
    floats += point->dtype == AR_FP32 ? 0 : 2 * vector; /* a layer's input and output as fp32 */
    double vectors = (double)(point->block + 3);
    if (layout->chunk[layout->chunks - 1].rank == plan->rank) {
        /* outputs, and a run of all layers in one chunk to compare them with */
        vectors += (double)(point->microbatches + ar_layout_blocks(layout) + 1);
        floats += weight_floats(point, 1, point->layers);
    }
    return 4 * floats + (double)ar_dtype_B(point->dtype) * vector * vectors +
           (double)ar_plan_memory(point, layout, plan).cache_B;
}

static ar_status step_B(const ar_point *point, bool simulated, int32_t rank, double *bytes,
                        ar_err *err) {
    ar_layout layout;
    ar_plan plan;
    ar_status status = ar_layout_make(point, &layout, err);
    if (status != AR_OK) return status;
    status = ar_plan_make(point, &layout, rank, &plan, err);
    if (status == AR_OK) {
        const bool real = point->compute == AR_REAL;
        const int64_t peak = ar_routing_total(point, &layout, (ar_cache)point->cache).peak_vectors;
        const double message_B = (double)ar_routing_bytes(point, peak);
        /* modelled sends share one buffer */
        const double buffers = plan.receives + (real ? plan.send_ring : 1);
        if (real) *bytes += real_B(point, &layout, &plan);
        if (real || !simulated) *bytes += buffers * message_B;
        ar_plan_free(&plan);
    }
    ar_layout_free(&layout);
    return status;
}

ar_status ar_memory_rank_B(const ar_point *point, bool simulated, int32_t rank, double *bytes,
                           ar_err *err) {
    ar_point standard = *point;
    standard.mechanism = AR_STANDARD;
    *bytes = 0;
    const ar_status status = step_B(point, simulated, rank, bytes, err);
    return status == AR_OK ? step_B(&standard, simulated, rank, bytes, err) : status;
}

/* MemAvailable counts what the page cache would give back. */
double ar_memory_available_B(void) {
    char line[256];
    double kilobytes = 0;
    FILE *in = fopen("/proc/meminfo", "r");
    if (!in) return 0;
    while (fgets(line, sizeof line, in))
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1) break;
    fclose(in);
    return 1024 * kilobytes;
}

ar_status ar_memory_check(double needed_B, const char *whose, ar_err *err) {
    const double available_B = ar_memory_available_B();
    if (available_B <= 0 || needed_B <= available_B) return AR_OK;
    return ar_fail(err, AR_ERUN,
                   "the run needs %.2f GiB for %s, this machine has %.2f GiB free; lower tokens, "
                   "width or stages, or ask sim or plan with compute = modelled",
                   needed_B / 0x1p30, whose, available_B / 0x1p30);
}
