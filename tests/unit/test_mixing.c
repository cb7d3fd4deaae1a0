/* The depth mixing matrix and its rank. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mixing.h"
#include "tap.h"

enum { MOST = 40 };

static ar_case case_of(ar_mechanism_id id, ar_form form, size_t L, size_t S) {
    return (ar_case){.mechanism = id,
                     .form = form,
                     .layers = L,
                     .block = S,
                     .tokens = 1,
                     .width = 1,
                     .streams = 4,
                     .threads = 1};
}

static void test_matrices(tap *tap_now) {
    static double m[MOST * MOST], exact[MOST * MOST];
    ar_err err = {{0}};
    bool ones = true, above = true, same = true, one = true;
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++)
        for (ar_form form = AR_TWO_PHASE; form <= AR_ONE_PASS; form++)
            for (size_t L = 1; L <= 17; L++)
                for (size_t S = 1; S <= 5; S++) {
                    const ar_case c = case_of(id, form, L, S);
                    const char *why;
                    if (!ar_subject_exists(&c, &why)) continue;
                    if (ar_mixing_from_kernels(&c, m, &err) != AR_OK ||
                        ar_mixing_from_definition(&c, exact, &err) != AR_OK) {
                        same = false;
                        continue;
                    }
                    for (size_t l = 0; l < L; l++) {
                        double sum = 0;
                        for (size_t i = 0; i < L; i++) {
                            const double x = m[l * L + i];
                            sum += x;
                            same = same && fabs(x - exact[l * L + i]) < 2e-6;
                            above = above && (i <= l || x == 0.0);
                            ones = ones && (id != AR_STANDARD || x == (i <= l ? 1.0 : 0.0));
                        }
                        one = one && (id != AR_FULL || fabs(sum - 1.0) < 1e-5);
                    }
                }
    OK(ones, "standard: ones on and below the diagonal");
    OK(above, "no layer sees a later one");
    OK(one, "Full: the weights of a layer add up to 1");
    OK(same, "kernels and definition have the same M %s", err.text);
}

static void test_ranks(tap *tap_now) {
    static double m[MOST * MOST];
    ar_err err = {{0}};
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++) {
        size_t cases = 0, right = 0, paper_right = 0;
        for (size_t L = 1; L <= 33; L += 4)
            for (size_t S = 1; S <= 9; S += 2) {
                const ar_case c = case_of(id, AR_TWO_PHASE, L, S);
                const char *why;
                char paper[64];
                ar_mixing_rank rank;
                const bool kernels = ar_subject_exists(&c, &why);
                ar_status status = kernels ? ar_mixing_from_kernels(&c, m, &err)
                                           : ar_mixing_from_definition(&c, m, &err);
                if (status == AR_OK)
                    status = ar_mixing_rank_find(L, m, kernels ? 4e-6 : 1e-13, &rank, &err);
                cases++;
                if (status != AR_OK) continue;
                right += rank.rank == ar_mixing_rank_expected(&c);
                paper_right += ar_mixing_rank_agrees(&c, &rank, paper, sizeof paper);
            }
        OK(right == cases, "%s: %zu of %zu ranks as the definition gives %s",
           ar_mechanism_names[id], right, cases, err.text);
        OK(paper_right == cases, "and as the paper's table has it: %zu", paper_right);
    }
    const ar_case k = case_of(AR_BLOCK, AR_TWO_PHASE, 128, 16);
    OK(ar_mixing_rank_expected(&k) == 9, "Block, L = 128, N = 8, S = 16: N + 1");
}

static void test_rank_find(tap *tap_now) {
    enum { L = 12 };
    double m[L * L] = {0};
    ar_mixing_rank rank;
    ar_err err = {{0}};
    for (size_t l = 0; l < L; l++)
        for (size_t i = 0; i <= l; i++)
            m[l * L + i] =
                sin((double)(l + 1)) * cos((double)i) + (double)(l * l) / (double)(i + 1);
    OK(ar_mixing_rank_find(L, m, 1e-13, &rank, &err) == AR_OK && rank.rank == 2 && !rank.full,
       "the lower triangle of a matrix of rank 2");
    memset(m, 0, sizeof m);
    OK(ar_mixing_rank_find(L, m, 1e-13, &rank, &err) == AR_OK && rank.rank == 0, "zeros: rank 0");
    m[5 * L + 2] = NAN;
    OK(ar_mixing_rank_find(L, m, 1e-13, &rank, &err) == AR_ERUN && strstr(err.text, "M[6][2]"),
       "not a number: %s", err.text);
}

int main(void) {
    TAP_START;
    test_matrices(tap_now);
    test_ranks(tap_now);
    test_rank_find(tap_now);
    return DONE();
}
