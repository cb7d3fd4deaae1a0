#include "question.h"

#include <stdlib.h>

#include "check.h"
#include "price.h"

static ar_status price_chunks(ar_question *q, ar_err *err) {
    if (q->point->compute == AR_REAL) return AR_OK;
    ar_device device = {0};
    if (q->point->forward_time_s <= 0) {
        const ar_status status = ar_device_load(q->point->device, &device, q->point->bad, err);
        if (status != AR_OK) return status;
    }
    q->forward_s = calloc((size_t)q->layout.chunks, sizeof *q->forward_s);
    q->backward_s = calloc((size_t)q->layout.chunks, sizeof *q->backward_s);
    if (!q->forward_s || !q->backward_s) return ar_fail(err, AR_ERUN, "out of memory");
    for (int32_t c = 0; c < q->layout.chunks; c++) {
        const ar_price price = ar_price_chunk(q->point, &device, &q->layout, c);
        q->forward_s[c] = price.forward_s;
        q->backward_s[c] = price.backward_s;
    }
    return AR_OK;
}

ar_status ar_question_open(const ar_point *point, bool prove, ar_question *question, ar_err *err) {
    ar_question q = {.point = point};
    ar_status status = ar_layout_make(point, &q.layout, err);
    if (status != AR_OK) return status;
    status = ar_plans_make(point, &q.layout, &q.plans, err);
    if (status == AR_OK && (prove || point->stages <= AR_CHECK_RANKS))
        status = ar_plan_check(point, &q.layout, q.plans, err);
    if (status == AR_OK) status = price_chunks(&q, err);
    if (status == AR_OK)
        *question = q;
    else
        ar_question_close(&q);
    return status;
}

void ar_question_close(ar_question *question) {
    ar_plans_free(question->plans, question->layout.stages);
    ar_layout_free(&question->layout);
    free(question->forward_s);
    free(question->backward_s);
    *question = (ar_question){0};
}

ar_status ar_question_walk(const ar_question *question, ar_place *place, ar_walk_result *walked,
                           ar_err *err) {
    const ar_walk_costs costs = {.forward_s = question->forward_s,
                                 .backward_s = question->backward_s,
                                 .link = place ? ar_place_link : NULL,
                                 .user = place};
    return ar_walk(question->point, &question->layout, question->plans, &costs, walked, err);
}

ar_status ar_question_planned(const ar_question *question, ar_planned *planned, ar_err *err) {
    return ar_planned_make(question->point, &question->layout, question->plans, question->forward_s,
                           question->backward_s, planned, err);
}
