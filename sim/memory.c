#include "memory.h"

#include <stdio.h>

#include "layer.h"

double ar_memory_rank_B(const ar_point *point, const ar_layout *layout, const ar_plan *plan) {
    const double vector = (double)point->tokens * (double)point->width;
    double floats = (double)(point->layers + 1) * (double)point->width;
    for (int32_t c = 0; c < layout->chunks; c++) {
        if (layout->chunk[c].rank != plan->rank) continue;
        for (int32_t l = layout->chunk[c].first; l <= layout->chunk[c].last; l++)
            floats += (double)ar_layer_weights((size_t)point->width, (size_t)l);
    }
    floats += (double)ar_layer_scratch((size_t)point->tokens, (size_t)point->width);
    floats += vector * (double)(point->block + 3) + 2 * (double)(point->block * point->tokens);
    if (layout->chunk[layout->chunks - 1].rank == plan->rank) {
        /* outputs, and a run of all layers in one chunk to compare them with */
        floats += vector * (double)(point->microbatches + ar_layout_blocks(layout) + 1);
        for (int64_t l = 1; l <= point->layers; l++)
            floats += (double)ar_layer_weights((size_t)point->width, (size_t)l);
    }
    const double peak =
        (double)ar_routing_total(point, layout, (ar_cache)point->cache).peak_vectors;
    return 4 * floats + (double)ar_plan_memory(point, layout, plan).cache_B +
           4 * vector * peak * (double)(plan->receives + plan->send_ring);
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
                   "compute = real needs %.2f GiB for %s, this machine has %.2f GiB free; lower "
                   "width, tokens, microbatches or layers, or use compute = modelled",
                   needed_B / 0x1p30, whose, available_B / 0x1p30);
}
