/* The semiseparable rank of a depth mixing matrix. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mixing.h"

/* LAPACK, as OpenBLAS has it. It is called by its Fortran name, as BLAS is in layer.c:
 * SimGrid brings another library's C interface into the process. */
void dgesvd_(const char *jobu, const char *jobv, const int *m, const int *n, double *a,
             const int *lda, double *s, double *u, const int *ldu, double *v, const int *ldv,
             double *work, const int *lwork, int *info);

/* Singular values of a, rows x columns with the columns contiguous; a is overwritten.
 * s: [min(rows, columns)]; work: [lwork]. */
static int singular_values(size_t rows, size_t columns, double *a, double *s, double *work,
                           size_t lwork) {
    const int m = (int)rows, n = (int)columns, one = 1, size = (int)lwork;
    int info = 0;
    double none = 0;
    dgesvd_("N", "N", &m, &n, a, &m, s, &none, &one, &none, &one, work, &size, &info);
    return info;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static void judge(size_t side, const double *s, double noise, ar_mixing_rank *rank) {
    size_t counted = 0;
    while (counted < side && s[counted] > noise * s[0])
        counted++;
    if (counted > rank->rank) rank->rank = counted;
    if (counted < side) {
        rank->full = false;
        if (s[0] > 0) rank->cut = fmax(rank->cut, s[counted] / s[0]);
    }
    if (counted > 0) rank->kept = fmin(rank->kept, s[counted - 1] / s[0]);
}

ar_status ar_mixing_rank_find(size_t layers, const double *m, double noise, ar_mixing_rank *rank,
                              ar_err *err) {
    const size_t L = layers, lwork = 8 * L + 64;
    double *const a = malloc(L * L * sizeof *a), *const s = malloc(L * sizeof *s);
    double *const work = malloc(lwork * sizeof *work);
    ar_mixing_rank found = {0, true, 1.0, 0.0};
    ar_status status = a && s && work ? AR_OK : ar_fail(err, AR_ERUN, "mixing: no memory");
    for (size_t k = 1; status == AR_OK && k <= L; k++) {
        const size_t rows = L - k + 1, side = smaller(rows, k);
        for (size_t i = 0; i < k; i++)
            for (size_t r = 0; r < rows; r++) {
                a[i * rows + r] = m[(k - 1 + r) * L + i];
                if (!isfinite(a[i * rows + r]))
                    status = ar_fail(err, AR_ERUN, "mixing: M[%zu][%zu] is not finite", k + r, i);
            }
        const int info = status == AR_OK ? singular_values(rows, k, a, s, work, lwork) : 0;
        if (info) status = ar_fail(err, AR_ERUN, "mixing: LAPACK's dgesvd returned %d", info);
        if (status == AR_OK) judge(side, s, noise, &found);
    }
    free(work);
    free(s);
    free(a);
    if (status == AR_OK) *rank = found;
    return status;
}

size_t ar_mixing_rank_expected(const ar_case *c) {
    const size_t L = c->layers, half = (L + 1) / 2;
    size_t best = 0;
    switch (c->mechanism) {
    case AR_STANDARD:
    case AR_HIGHWAY:
        return 1;
    case AR_MHC:
        return smaller(c->streams, half);
    case AR_DENSEFORMER:
    case AR_FULL:
        return half;
    case AR_BLOCK:
        for (size_t k = 1; k <= L; k++) { /* the embedding, and the blocks of layers 1..k-1 */
            const size_t columns = 1 + (k - 1 + c->block - 1) / c->block;
            const size_t rank = smaller(columns, L - k + 1);
            best = rank > best ? rank : best;
        }
        return best;
    }
    return half;
}

bool ar_mixing_rank_agrees(const ar_case *c, const ar_mixing_rank *rank, char *paper, size_t size) {
    const size_t L = c->layers, N = (L - 1) / c->block + 1;
    switch (c->mechanism) {
    case AR_STANDARD:
    case AR_HIGHWAY:
        snprintf(paper, size, "1");
        return rank->rank == 1;
    case AR_MHC:
        snprintf(paper, size, "m = %zu", c->streams);
        return rank->rank == ar_mixing_rank_expected(c);
    case AR_DENSEFORMER:
    case AR_FULL:
        snprintf(paper, size, "L = %zu", L);
        return rank->full;
    case AR_BLOCK:
        if (ar_mixing_rank_expected(c) < N) { /* no block shows all columns: S is too small */
            snprintf(paper, size, "N to N + S: %zu to %zu (L ends it)", N, N + c->block);
            return rank->rank == ar_mixing_rank_expected(c);
        }
        snprintf(paper, size, "N to N + S: %zu to %zu", N, N + c->block);
        return rank->rank >= N && rank->rank <= N + c->block;
    }
    return false;
}
