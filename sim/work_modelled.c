#include "work_modelled.h"

static void compute(void *self, const ar_action *action, ar_progress_fn *progress, void *user) {
    const ar_modelled *modelled = self;
    const double *seconds = action->backward ? modelled->backward_s : modelled->forward_s;
    ar_engine_elapse(seconds[action->chunk], progress, user);
}

ar_work ar_work_modelled(ar_modelled *self) {
    return (ar_work){.self = self, .compute = compute};
}
