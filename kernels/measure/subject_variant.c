/* The ablations as cases: which mechanism and form has which. */

#include "subject.h"

const char *const ar_ablation_names[] = {"none",     "sliding-window", "own-query",     "sigmoid",
                                         "raw-keys", "scalar-gate",    "unconstrained", NULL};

bool ar_subject_has_ablation(ar_mechanism_id mechanism, ar_form form, ar_ablation ablation) {
    const bool attends = mechanism == AR_FULL || mechanism == AR_BLOCK;
    switch (ablation) {
    case AR_NO_ABLATION:
        return true;
    case AR_SLIDING_WINDOW:
        return mechanism == AR_FULL && form == AR_ONE_PASS;
    case AR_OWN_QUERY: /* known only when the layer before is done: no phase 1 */
        return attends && form == AR_ONE_PASS;
    case AR_SIGMOID:
    case AR_RAW_KEYS:
        return attends;
    case AR_SCALAR_GATE:
        return mechanism == AR_HIGHWAY;
    case AR_UNCONSTRAINED:
        return mechanism == AR_MHC;
    }
    return false;
}

size_t ar_case_window(const ar_case *c) {
    return c->ablation == AR_SLIDING_WINDOW ? c->window : 0;
}

ar_variant ar_case_variant(const ar_case *c) {
    return (ar_variant){.sigmoid = c->ablation == AR_SIGMOID,
                        .raw_keys = c->ablation == AR_RAW_KEYS,
                        .own_query = c->ablation == AR_OWN_QUERY,
                        .window = ar_case_window(c),
                        .scalar_gate = c->ablation == AR_SCALAR_GATE,
                        .unconstrained = c->ablation == AR_UNCONSTRAINED};
}
