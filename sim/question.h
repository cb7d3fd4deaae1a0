#ifndef AR_QUESTION_H
#define AR_QUESTION_H

/* The pure part of a point, held while it is asked: layout, plans of all ranks,
 * modelled seconds. */

#include "place.h"
#include "planned.h"

typedef struct {
    const ar_point *point;
    ar_layout layout;
    ar_plan *plans;                 /* [stages] */
    double *forward_s, *backward_s; /* [chunks], modelled; NULL for real compute */
} ar_question;

/* Plans of up to 64 ranks are proved here (prove: always). */
ar_status ar_question_open(const ar_point *point, bool prove, ar_question *question, ar_err *err);
void ar_question_close(ar_question *question);

/* The critical path over the place's routes, or with free communication (NULL). */
ar_status ar_question_walk(const ar_question *question, ar_place *place, ar_walk_result *walked,
                           ar_err *err);

/* Counts, peaks and the critical path with free communication. */
ar_status ar_question_planned(const ar_question *question, ar_planned *planned, ar_err *err);

#endif
