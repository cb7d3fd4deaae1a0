#include "schedule.h"

#include <stdlib.h>

ar_status ar_schedule_check(const ar_point *point, ar_err *err) {
    if (point->schedule == AR_1F1B && point->virtual_stages > 1)
        return ar_fail(err, point->bad,
                       "schedule = 1f1b with virtual = %lld: rule: 1f1b runs one chunk on each "
                       "rank (virtual = 1); for more chunks use interleaved or gpipe",
                       (long long)point->virtual_stages);
    return AR_OK;
}

const char *ar_schedule_note(const ar_point *point) {
    if (point->schedule == AR_INTERLEAVED && point->virtual_stages > 1 &&
        point->microbatches % point->stages != 0)
        return "rule 'padded rounds': interleaved works in rounds of P micro-batches; the last "
               "round is incomplete and is ordered as if full, its missing micro-batches skipped";
    return NULL;
}

static void add(ar_tasks *tasks, int32_t chunk, int64_t microbatch, bool backward) {
    tasks->task[tasks->count++] = (ar_task){chunk, (int32_t)microbatch, backward};
}

/* All forwards, chunk by chunk, then all backwards, last chunk first. */
static void gpipe(const ar_point *point, const int32_t *chunk, ar_tasks *tasks) {
    for (int64_t v = 0; v < point->virtual_stages; v++)
        for (int64_t m = 0; m < point->microbatches; m++)
            add(tasks, chunk[v], m, false);
    if (point->pass == AR_FORWARD_ONLY) return;
    for (int64_t v = point->virtual_stages - 1; v >= 0; v--)
        for (int64_t m = 0; m < point->microbatches; m++)
            add(tasks, chunk[v], m, true);
}

/* Interleaved 1F1B (Narayanan et al., arXiv 2104.04473): rounds of P micro-batches
 * through each of the V chunks in turn; at V = 1 plain 1F1B. A last round that is
 * not full is ordered as if it were, and its missing micro-batches are skipped. The
 * order among those that remain is that of a full schedule, so it cannot hang. */
static void interleaved(const ar_point *point, const int32_t *chunk, int64_t rank,
                        ar_tasks *tasks) {
    const int64_t p = point->stages, v = point->virtual_stages, m = point->microbatches;
    const bool train = point->pass == AR_TRAIN;
    const int64_t round = v == 1 ? 1 : p; /* micro-batches before the next chunk's turn */
    const int64_t total = (m + round - 1) / round * round * v;
    const int64_t ahead = v == 1 ? p - 1 - rank : 2 * (p - 1 - rank) + (v - 1) * p;
    const int64_t warmup = !train || ahead > total ? total : ahead;
    const int64_t steps = train ? total + warmup : total;
    for (int64_t k = 0; k < steps; k++) {
        for (int backward = 0; backward < (train ? 2 : 1); backward++) {
            const int64_t turn = backward ? k - warmup : k;
            if (turn < 0 || turn >= total) continue;
            const int64_t in_round = turn % (round * v);
            const int64_t microbatch = turn / (round * v) * round + in_round % round;
            const int64_t nth = backward ? v - 1 - in_round / round : in_round / round;
            if (microbatch < m) add(tasks, chunk[nth], microbatch, backward);
        }
    }
}

ar_status ar_schedule_make(const ar_point *point, const ar_layout *layout, int32_t rank,
                           ar_tasks *tasks, ar_err *err) {
    const size_t chunks = (size_t)point->virtual_stages;
    const size_t most = chunks * (size_t)point->microbatches * (point->pass == AR_TRAIN ? 2 : 1);
    ar_tasks made = {.task = calloc(most, sizeof *made.task)};
    int32_t *chunk = calloc(chunks, sizeof *chunk);
    if (!made.task || !chunk) {
        free(made.task);
        free(chunk);
        return ar_fail(err, AR_ERUN, "out of memory for a schedule of %zu tasks", most);
    }
    size_t mine = 0;
    for (int32_t c = layout->first_chunk[rank]; c >= 0; c = layout->chunk[c].next)
        chunk[mine++] = c;
    if (point->schedule == AR_GPIPE)
        gpipe(point, chunk, &made);
    else
        interleaved(point, chunk, rank, &made);
    free(chunk);
    *tasks = made;
    return AR_OK;
}

void ar_tasks_free(ar_tasks *tasks) {
    free(tasks->task);
    tasks->task = NULL;
}
