#ifndef AR_ASK_H
#define AR_ASK_H

/* Ask a point of an engine: planned at once (critical path without contention),
 * simulated under SMPI, or run under Open MPI; get the result of it. */

#include "result.h"

typedef enum { AR_ASK_PLAN, AR_ASK_SIM, AR_ASK_RUN } ar_asked;
extern const char *const ar_asked_names[]; /* "plan", "sim", "run", NULL */

/* dir: where a timeline goes. The status is of the question (bad input, a missing
 * engine, an interrupt); what goes wrong in the run marks the result as failed. */
ar_status ar_ask(ar_asked engine, const ar_point *point, const char *dir, ar_result *result,
                 ar_err *err);

#endif
