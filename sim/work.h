#ifndef AR_WORK_H
#define AR_WORK_H

/* What a rank does with its actions besides messages: modelled work lets seconds
 * pass, real work runs the kernels on real tensors. */

#include "engine.h"
#include "plan.h"

typedef struct {
    void *self;
    void (*compute)(void *self, const ar_action *action, ar_progress_fn *progress, void *user);
    /* The rest may be NULL: contents do not matter then. */
    void (*unpack)(void *self, const ar_action *action, const ar_message *message,
                   const void *buffer);
    void (*pack)(void *self, const ar_action *action, const ar_message *message, void *buffer);
    void (*keep)(void *self, const ar_action *action);
    void (*release)(void *self, const ar_action *action);
} ar_work;

#endif
