#ifndef AR_CHECK_H
#define AR_CHECK_H

/* The plan checker: takes all ranks' lists and proves that every receive has its
 * send in the same order, that nothing waits in a cycle, that every source is there
 * when read, is kept and released once, that every chunk computes once per
 * micro-batch and pass, and that the bytes sent are those of the routing table. */

#include "plan.h"

enum { AR_CHECK_RANKS = 64 }; /* plans up to this many ranks are always checked */

/* plans: [stages]. AR_ECHECK with the first violation. */
ar_status ar_plan_check(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                        ar_err *err);

#endif
