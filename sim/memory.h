#ifndef AR_MEMORY_H
#define AR_MEMORY_H

/* Memory of a run, asked before anything is allocated. */

#include "plan.h"

/* Bytes that one rank allocates for the step and its baseline, message buffers
 * included: real compute's tensors; modelled compute's payloads, unless simulated. */
ar_status ar_memory_rank_B(const ar_point *point, bool simulated, int32_t rank, double *bytes,
                           ar_err *err);

/* Memory of this machine that programs may take now. */
double ar_memory_available_B(void);

/* AR_ERUN, with both figures, if needed_B is more than that. */
ar_status ar_memory_check(double needed_B, const char *whose, ar_err *err);

#endif
