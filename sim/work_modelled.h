#ifndef AR_WORK_MODELLED_H
#define AR_WORK_MODELLED_H

#include "work.h"

/* Work that takes forward_s[chunk] or backward_s[chunk] seconds; the arrays stay
 * the caller's and must outlive the work. self is the caller's too. */
typedef struct {
    const double *forward_s, *backward_s;
} ar_modelled;

ar_work ar_work_modelled(ar_modelled *self);

#endif
