#ifndef AR_STUDY_H
#define AR_STUDY_H

/* A study file: section [study]; any key of a point, and `engine` (plan, sim, run),
 * may be a list, and lists multiply. Commas part a list ('|' for split, whose values
 * have commas). Keys joined by '+' vary together:
 *     cache = none, own
 *     platform + host_stride = nvlink-node : 1, ndr-fat-tree : 8
 * The last list in the file varies fastest. */

#include "ask.h"

typedef struct ar_study ar_study;

/* Read and check every key and value; combinations are checked point by point. */
ar_status ar_study_read(const char *path, ar_study **study, ar_err *err);
void ar_study_free(ar_study *study);

size_t ar_study_points(const ar_study *study);

/* Point i and its engine. A combination that is refused is the returned status. */
ar_status ar_study_point(const ar_study *study, size_t i, ar_point *point, ar_asked *engine,
                         ar_err *err);

#endif
