#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Units of each chunk: --split, or as even as can be with the remainder in the
 * first or the last chunks. */
static ar_status split_units(const ar_point *point, int64_t units, int32_t chunks, int64_t *share,
                             ar_err *err) {
    if (point->split[0] == '\0') {
        const int64_t each = units / chunks, rest = units % chunks;
        for (int32_t c = 0; c < chunks; c++) {
            const bool extra =
                point->remainder == AR_REMAINDER_FIRST ? c < rest : c >= chunks - rest;
            share[c] = each + extra;
        }
        return AR_OK;
    }
    int64_t sum = 0;
    int32_t count = 0;
    for (const char *at = point->split; count <= chunks;) {
        char *end;
        errno = 0;
        const long long value = strtoll(at, &end, 10);
        if (end == at || errno || value < 0 || value > units || (*end != ',' && *end != '\0'))
            return ar_fail(err, point->bad,
                           "split = %s: entry %d is not a whole number of units from 0 to %lld",
                           point->split, (int)count + 1, (long long)units);
        if (count < chunks) share[count] = value;
        count++;
        sum += value;
        if (*end == '\0') break;
        at = end + 1;
    }
    if (count != chunks)
        return ar_fail(err, point->bad,
                       "split = %s: has %s%d entries; legal: one for each of the %d chunks",
                       point->split, count > chunks ? "more than " : "",
                       (int)(count > chunks ? chunks : count), (int)chunks);
    if (sum != units)
        return ar_fail(err, point->bad, "split = %s: sums to %lld; the model has %lld units",
                       point->split, (long long)sum, (long long)units);
    return AR_OK;
}

/* Sources finished once layers 1..last are done. The last block ends with the model. */
static int32_t history_after(const ar_layout *layout, int32_t last) {
    if (layout->block == 0) return 0;
    if (last == layout->layers) return ar_layout_blocks(layout) + 1;
    return last / layout->block + 1;
}

static void assign_layers(const ar_point *point, const int64_t *share, ar_layout *layout) {
    int64_t done = 0;
    for (int32_t c = 0; c < layout->chunks; c++) {
        ar_chunk *chunk = &layout->chunk[c];
        const int64_t end = (done + share[c]) * point->unit;
        chunk->first = (int32_t)(done * point->unit) + 1;
        chunk->last = (int32_t)(end < point->layers ? end : point->layers);
        if (share[c] == 0) chunk->last = chunk->first - 1;
        done += share[c];
        const int32_t finished = chunk->last < layout->layers ? chunk->last : layout->layers;
        chunk->history = history_after(layout, finished);
        chunk->partial =
            layout->block == 0 || (finished < layout->layers && finished % layout->block != 0);
    }
}

/* Looped placement. newest: [stages], scratch. */
static void place_chunks(ar_layout *layout, int32_t *newest) {
    for (int32_t r = 0; r < layout->stages; r++)
        newest[r] = -1;
    for (int32_t c = 0; c < layout->chunks; c++) {
        ar_chunk *chunk = &layout->chunk[c];
        chunk->rank = c % layout->stages;
        chunk->previous = newest[chunk->rank];
        chunk->next = -1;
        if (chunk->previous >= 0)
            layout->chunk[chunk->previous].next = c;
        else
            layout->first_chunk[chunk->rank] = c;
        newest[chunk->rank] = c;
    }
}

ar_status ar_layout_make(const ar_point *point, ar_layout *layout, ar_err *err) {
    const int64_t units = (point->layers + point->unit - 1) / point->unit;
    const int32_t chunks = (int32_t)(point->stages * point->virtual_stages);
    ar_layout made = {.stages = (int32_t)point->stages,
                      .chunks = chunks,
                      .layers = (int32_t)point->layers,
                      .first_source = point->embedding ? 0 : 1,
                      .stream = point->mechanism == AR_MHC ? (int32_t)point->streams : 1};
    if (ar_mechanism_has_blocks((ar_mechanism_id)point->mechanism))
        made.block =
            (int32_t)ar_mechanism_block((ar_mechanism_id)point->mechanism, (size_t)point->block);
    int64_t *share = calloc((size_t)chunks, sizeof *share);
    int32_t *newest = calloc((size_t)made.stages, sizeof *newest);
    made.chunk = calloc((size_t)chunks, sizeof *made.chunk);
    made.first_chunk = calloc((size_t)made.stages, sizeof *made.first_chunk);
    ar_status status = AR_OK;
    if (!share || !newest || !made.chunk || !made.first_chunk)
        status = ar_fail(err, AR_ERUN, "out of memory for a layout of %d chunks", (int)chunks);
    if (status == AR_OK) status = split_units(point, units, chunks, share, err);
    if (status == AR_OK) {
        assign_layers(point, share, &made);
        place_chunks(&made, newest);
        *layout = made;
    } else {
        ar_layout_free(&made);
    }
    free(share);
    free(newest);
    return status;
}

void ar_layout_free(ar_layout *layout) {
    free(layout->chunk);
    free(layout->first_chunk);
    layout->chunk = NULL;
    layout->first_chunk = NULL;
}

int32_t ar_layout_blocks(const ar_layout *layout) {
    return layout->block == 0 ? 0 : (layout->layers + layout->block - 1) / layout->block;
}
