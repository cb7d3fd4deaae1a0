#ifndef AR_TIMELINE_H
#define AR_TIMELINE_H

/* A pipeline's timeline, from a CSV with the header
 * rank,kind,pass,chunk,microbatch,start_s,end_s: kind compute or wait, pass forward
 * or backward, seconds from the step's start. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { AR_TIMELINE_RANKS = 128, AR_TIMELINE_BOXES = 30000 }; /* most that an SVG draws */

typedef struct {
    int64_t rank, chunk, microbatch;
    bool wait, backward;
    double start_s, end_s;
} ar_event;

typedef struct {
    ar_event *event; /* owned, in file order */
    size_t count;
    int64_t ranks;  /* highest rank + 1 */
    int64_t chunks; /* highest chunk + 1 */
    double end_s;   /* the last event's end */
} ar_timeline;

/* Refused with file and line: other kinds and passes, ranks, chunks and micro-batches
 * below 0 or above a million, times that are not numbers or end before they start. */
ar_status ar_timeline_read(const char *path, ar_timeline *timeline, ar_err *err);
void ar_timeline_free(ar_timeline *timeline);

/* One lane a rank, one box a compute: blue forward, orange backward, darker with
 * every chunk of the rank, with the number of the micro-batch where it fits; idle
 * time is blank. AR_ERUN when there is too much to draw, or no room on the disk. */
ar_status ar_timeline_svg(const ar_timeline *timeline, const char *title, const char *path,
                          ar_err *err);

/* Chrome trace events, for Perfetto: a thread a rank, computes and waits. */
ar_status ar_timeline_trace(const ar_timeline *timeline, const char *path, ar_err *err);

#endif
