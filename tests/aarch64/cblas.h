#ifndef AR_TEST_CBLAS_H
#define AR_TEST_CBLAS_H

/* What kernels/ need of BLAS, for an architecture without one: see sgemm.c. */

typedef int blasint;

#endif
