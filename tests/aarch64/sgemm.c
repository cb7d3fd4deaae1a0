/* Fortran's sgemm by its definition, so that tests of kernels/ link where there is no BLAS:
 * C [m][n] = alpha op(A) op(B) + beta C, column by column. Where beta is 0 C is not read. */

#include "cblas.h"

void sgemm_(const char *ta, const char *tb, const blasint *m, const blasint *n, const blasint *k,
            const float *alpha, const float *a, const blasint *lda, const float *b,
            const blasint *ldb, const float *beta, float *c, const blasint *ldc);

void sgemm_(const char *ta, const char *tb, const blasint *m, const blasint *n, const blasint *k,
            const float *alpha, const float *a, const blasint *lda, const float *b,
            const blasint *ldb, const float *beta, float *c, const blasint *ldc) {
    for (blasint j = 0; j < *n; j++)
        for (blasint i = 0; i < *m; i++) {
            float sum = 0.0f;
            for (blasint p = 0; p < *k; p++)
                sum += (*ta == 'N' ? a[p * *lda + i] : a[i * *lda + p]) *
                       (*tb == 'N' ? b[j * *ldb + p] : b[p * *ldb + j]);
            float *const out = &c[j * *ldc + i];
            *out = *alpha * sum + (*beta != 0.0f ? *beta * *out : 0.0f);
        }
}
