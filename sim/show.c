#include "show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Why the exact count is not the closed form's. */
static void explain(const ar_point *point, const ar_layout *layout, const ar_routing_sum *sum,
                    char *text, size_t size) {
    const double off =
        (double)(sum->vectors - sum->embeddings - sum->partial) - sum->formula_vectors;
    if (point->stages == 1) {
        snprintf(text, size, "one rank: nothing on a wire; the closed form counts hops inside it");
        return;
    }
    if (layout->block == 0) {
        snprintf(text, size, "%d running vector%s at each hop", (int)layout->stream,
                 layout->stream == 1 ? "" : "s");
        return;
    }
    int used = 0;
    text[0] = '\0';
    if (sum->embeddings)
        used += snprintf(text, size, "embedding +%lld", (long long)sum->embeddings);
    if (sum->partial && used < (int)size)
        used += snprintf(text + used, size - (size_t)used, "%spartial sums +%lld", used ? ", " : "",
                         (long long)sum->partial);
    if (fabs(off) > 1e-9 && used < (int)size)
        used += snprintf(text + used, size - (size_t)used, "%sblocks end off chunk ends %+.4g",
                         used ? ", " : "", off);
    if (!used) snprintf(text, size, "equal");
}

void ar_show_totals(const ar_point *point, const ar_layout *layout, bool csv, FILE *out) {
    const ar_routing_sum none = ar_routing_total(point, layout, AR_CACHE_NONE);
    if (csv)
        fprintf(out, "cache,hops,blocks,partial,vectors,bytes,peak_vectors,formula_vectors,"
                     "saved_percent\n");
    else
        fprintf(out, "%-9s %6s %8s %8s %8s %16s %6s %9s %7s  %s\n", "cache", "hops", "blocks",
                "partial", "vectors", "bytes", "peak", "formula", "saved %",
                "exact against formula");
    for (int cache = 0; cache < AR_CACHES; cache++) {
        char why[256];
        const ar_routing_sum sum = ar_routing_total(point, layout, (ar_cache)cache);
        const double saved =
            none.vectors ? 100.0 * (double)(none.vectors - sum.vectors) / (double)none.vectors : 0;
        explain(point, layout, &sum, why, sizeof why);
        fprintf(out,
                csv ? "%s,%lld,%lld,%lld,%lld,%lld,%lld,%.10g,%.1f\n"
                    : "%-9s %6lld %8lld %8lld %8lld %16lld %6lld %9.5g %7.1f  %s\n",
                ar_cache_names[cache], (long long)sum.hops, (long long)sum.blocks,
                (long long)sum.partial, (long long)sum.vectors, (long long)sum.bytes,
                (long long)sum.peak_vectors, sum.formula_vectors, saved, why);
    }
}

static void show_ids(const ar_layout *layout, int32_t c, ar_hop hop, FILE *out) {
    for (int32_t id = hop.from; id < hop.to; id++)
        fprintf(out, "%s%d", id == hop.from ? "" : " ", (int)id);
    if (hop.stream && layout->block > 0) /* the partial sum of the block in progress */
        fprintf(out, "%s%d*", hop.from < hop.to ? " " : "", (int)layout->chunk[c].history);
}

void ar_show_hops(const ar_point *point, const ar_layout *layout, bool csv, FILE *out) {
    if (csv)
        fprintf(out, "hop,from_chunk,to_chunk,from_rank,to_rank,blocks,partial,vectors,bytes,"
                     "block_ids\n");
    else
        fprintf(out, "%5s %12s %12s %7s %8s %8s %14s  %s\n", "hop", "chunks", "ranks", "blocks",
                "partial", "vectors", "bytes", "block ids (0 embedding, n* partial sum of n)");
    for (int32_t c = 0; c + 1 < layout->chunks; c++) {
        const ar_hop hop = ar_routing_hop(layout, (ar_cache)point->cache, c);
        fprintf(out,
                csv ? "%d,%d,%d,%d,%d,%d,%d,%lld,%lld,"
                    : "%5d %5d ->%4d %5d ->%4d %7d %8d %8lld %14lld  ",
                (int)c, (int)c, (int)c + 1, (int)layout->chunk[c].rank,
                (int)layout->chunk[c + 1].rank, (int)(hop.to - hop.from), (int)hop.stream,
                (long long)ar_hop_vectors(hop),
                (long long)ar_routing_bytes(point, ar_hop_vectors(hop)));
        show_ids(layout, c, hop, out);
        fprintf(out, "%s\n", !csv && !hop.wire ? "(inside a rank)" : "");
    }
}

static const char *const action_names[] = {"post", "wait", "compute", "send", "keep", "release"};

void ar_show_actions(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                     int32_t rank, bool csv, FILE *out) {
    if (csv)
        fprintf(out, "rank,action,kind,pass,chunk,microbatch,peer,bytes,sources\n");
    else
        fprintf(out, "%5s %7s %-8s %-8s %6s %11s %5s %12s  %s\n", "rank", "action", "kind", "pass",
                "chunk", "micro-batch", "peer", "bytes", "sources");
    for (int32_t r = 0; r < layout->stages; r++) {
        if (rank >= 0 && r != rank) continue;
        for (size_t i = 0; i < plans[r].count; i++) {
            const ar_action *a = &plans[r].action[i];
            fprintf(out, csv ? "%d,%zu,%s,%s,%d,%d," : "%5d %7zu %-8s %-8s %6d %11d ", (int)r, i,
                    action_names[a->kind], a->backward ? "backward" : "forward", (int)a->chunk,
                    (int)a->microbatch);
            if (a->kind == AR_POST || a->kind == AR_WAIT || a->kind == AR_SEND) {
                const ar_message m = ar_plan_message(point, layout, a);
                fprintf(out, csv ? "%d,%lld,\n" : "%5d %12lld\n", (int)m.peer, (long long)m.bytes);
            } else if (a->kind == AR_KEEP || a->kind == AR_RELEASE) {
                fprintf(out, "%s%d-%d\n", csv ? ",," : "                    ", (int)a->from,
                        (int)a->to - 1);
            } else {
                fprintf(out, "%s\n", csv ? ",," : "");
            }
        }
    }
}

void ar_show_memory(const ar_point *point, const ar_layout *layout, const ar_plan *plans, bool csv,
                    FILE *out) {
    if (csv)
        fprintf(out, "rank,cache_bytes,activation_bytes,message_bytes\n");
    else
        fprintf(out, "%5s %16s %18s %16s\n", "rank", "cached blocks B", "activations B",
                "messages B");
    for (int32_t r = 0; r < layout->stages; r++) {
        const ar_plan_peak peak = ar_plan_memory(point, layout, &plans[r]);
        fprintf(out, csv ? "%d,%lld,%lld,%lld\n" : "%5d %16lld %18lld %16lld\n", (int)r,
                (long long)peak.cache_B, (long long)peak.activation_B, (long long)peak.message_B);
    }
}

/* ---- timeline ---- */

typedef struct {
    const ar_walk_costs *costs;
    FILE *csv;  /* events go there, or */
    char *cell; /* [stages][columns] */
    int columns;
    double cell_s;
} gantt;

static void draw(void *user, int32_t rank, const ar_action *action, double start_s, double end_s) {
    const gantt *g = user;
    if (g->csv)
        fprintf(g->csv, "%d,%s,%s,%d,%d,%.9g,%.9g\n", (int)rank,
                action->kind == AR_COMPUTE ? "compute" : "wait",
                action->backward ? "backward" : "forward", (int)action->chunk,
                (int)action->microbatch, start_s, end_s);
    if (!g->cell || action->kind != AR_COMPUTE) return;
    const int m = action->microbatch;
    const char mark = (char)(action->backward ? 'a' + m % 26 : '0' + m % 10);
    for (int i = (int)(start_s / g->cell_s); i < g->columns; i++) { /* cells by their middle */
        const double middle_s = (i + 0.5) * g->cell_s;
        if (middle_s >= end_s) break;
        if (middle_s >= start_s) g->cell[(size_t)rank * (size_t)g->columns + (size_t)i] = mark;
    }
}

static ar_link pass_link(void *user, int32_t into, bool backward) {
    const gantt *g = user;
    return g->costs->link(g->costs->user, into, backward);
}

ar_status ar_show_timeline(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                           const ar_walk_costs *costs, int columns, bool csv, FILE *out,
                           ar_err *err) {
    gantt g = {.costs = costs, .csv = csv ? out : NULL, .columns = columns};
    const ar_walk_costs drawn = {costs->forward_s, costs->backward_s,
                                 costs->link ? pass_link : NULL, draw, &g};
    ar_walk_result walked;
    if (csv) {
        fprintf(out, "rank,kind,pass,chunk,microbatch,start_s,end_s\n");
        return ar_walk(point, layout, plans, &drawn, &walked, err);
    }
    ar_status status = ar_walk(point, layout, plans, costs, &walked, err);
    if (status != AR_OK) return status;
    const size_t cells = (size_t)layout->stages * (size_t)columns;
    g.cell = malloc(cells);
    if (!g.cell) return ar_fail(err, AR_ERUN, "out of memory for a timeline");
    memset(g.cell, '.', cells);
    g.cell_s = walked.step_s > 0 ? walked.step_s / columns : 1;
    status = ar_walk(point, layout, plans, &drawn, &walked, err);
    if (status == AR_OK) {
        fprintf(out,
                "digits: forward of micro-batch m mod 10; letters: backward (a is 0); dots: "
                "idle; one column is %.4g s\n",
                g.cell_s);
        for (int32_t r = 0; r < layout->stages; r++)
            fprintf(out, "rank %4d |%.*s|\n", (int)r, columns,
                    g.cell + (size_t)r * (size_t)columns);
    }
    free(g.cell);
    return status;
}
