#ifndef AR_SCHEDULE_H
#define AR_SCHEDULE_H

/* The order of forwards and backwards on one rank. */

#include "layout.h"

typedef struct {
    int32_t chunk, microbatch;
    bool backward;
} ar_task;

typedef struct {
    ar_task *task;
    size_t count; /* 2 V M for training, V M forward only */
} ar_tasks;

/* Refuse combinations that the schedule's rule forbids. */
ar_status ar_schedule_check(const ar_point *point, ar_err *err);

/* A rule that a legal point invokes and the user should know of, or NULL. */
const char *ar_schedule_note(const ar_point *point);

ar_status ar_schedule_make(const ar_point *point, const ar_layout *layout, int32_t rank,
                           ar_tasks *tasks, ar_err *err);
void ar_tasks_free(ar_tasks *tasks);

#endif
