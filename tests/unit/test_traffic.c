/* Memory I/O: closed forms of the reference, and a count by enumeration. */

#include "tap.h"
#include "traffic.h"

#include <math.h>

static const ar_form forms[] = {AR_TWO_PHASE, AR_ONE_PASS};

static bool equal(double x, double expected) {
    return fabs(x - expected) <= 1e-12 * fabs(expected);
}

/* What the kernels do, event by event, one vector at a time. */
typedef struct {
    size_t vectors, passes;
} count;

static count walk(ar_mechanism_id id, ar_form form, size_t S, size_t first, size_t last) {
    count c = {0, 0};
    size_t answered = 0; /* layers up to here have phase 1's output */
    size_t start = first;
    bool pending = false; /* a layer output waits to be added to the partial sum */
    for (size_t l = first; l <= last; l++) {
        const bool block = id == AR_BLOCK, opens = (l - 1) % S == 0;
        size_t sources = 0; /* finished ones */
        for (size_t k = 0; k < l; k += block ? S : 1)
            sources++;
        if (form == AR_ONE_PASS) {
            c.passes++;
            c.vectors += sources + 1; /* and h */
            if (block && !opens) c.vectors += 1 + (pending ? 2u : 0u);
        } else {
            if (l > answered) {
                start = block ? l : l - (l - 1) % S; /* Full: the group's own come later */
                c.passes++;
                c.vectors += block ? sources : start;
                for (answered = l; answered < last && answered % S != 0; answered++)
                    c.vectors++;
                c.vectors++;
            }
            if (block && !opens) {
                c.passes++;
                c.vectors += 3 + (pending ? 2u : 0u);
            }
            if (!block && l > start) {
                c.passes++;
                c.vectors += 2; /* o, h */
                for (size_t k = start; k < l; k++)
                    c.vectors++;
            }
        }
        pending = block && !opens; /* the block's first output is the partial sum itself */
        if (pending && (l == last || l % S == 0)) {
            c.passes++;
            c.vectors += 3;
            pending = false;
        }
    }
    return c;
}

static void test_closed_forms(tap *tap_now) {
    const size_t L = 128, S = 16, m = 4;
    const double N = 8, s = 16, l = 128;
    OK(equal(ar_traffic_exact(AR_STANDARD, AR_TWO_PHASE, L, S, m, 1, L) / l, 3), "standard 3");
    OK(equal(ar_traffic_exact(AR_BLOCK, AR_TWO_PHASE, L, S, m, 1, L) / l,
             (N + 1) / (2 * s) + 6 - 4 / s),
       "block two-phase (N+1)/2S + 6 - 4/S");
    OK(equal(ar_traffic_exact(AR_BLOCK, AR_ONE_PASS, L, S, m, 1, L) / l, (N + 1) / 2 + 4 - 2 / s),
       "block one-pass (N+1)/2 + 4 - 2/S");
    OK(equal(ar_traffic_exact(AR_FULL, AR_TWO_PHASE, L, S, m, 1, L) / l, (N + s) / 2 + 2 - 1 / s),
       "full two-phase (N+S)/2 + 2 - 1/S");
    OK(equal(ar_traffic_exact(AR_FULL, AR_ONE_PASS, L, S, m, 1, L) / l, (l + 1) / 2 + 1),
       "full one-pass (L+1)/2 + 1");
    OK(equal(ar_traffic_exact(AR_DENSEFORMER, AR_TWO_PHASE, L, S, m, 1, L) / l, (l + 1) / 2 + 1),
       "denseformer");
    OK(equal(ar_traffic_exact(AR_HIGHWAY, AR_TWO_PHASE, L, S, m, 1, L) / l, 4), "highway 4");
    OK(equal(ar_traffic_exact(AR_MHC, AR_TWO_PHASE, L, S, m, 1, L) / l, 34), "mHC 8m + 2");
    for (size_t n = 1; n <= 8; n++)
        OK(equal(ar_traffic_exact(AR_BLOCK, AR_TWO_PHASE, L, S, m, (n - 1) * S + 1, n * S),
                 (double)n + 6 * s - 4),
           "block %zu moves n + 6S - 4", n);
}

static void test_paper(tap *tap_now) {
    OK(equal(ar_traffic_paper(AR_STANDARD, AR_TWO_PHASE, 128, 16, 4, 1024), 3), "paper: standard");
    OK(equal(ar_traffic_paper(AR_MHC, AR_TWO_PHASE, 128, 16, 4, 1024), 34 + 48.0 / 1024),
       "paper: mHC 34d + 48");
    OK(equal(ar_traffic_paper(AR_FULL, AR_TWO_PHASE, 128, 16, 4, 1024), 24), "paper: full 24");
    OK(equal(ar_traffic_paper(AR_BLOCK, AR_TWO_PHASE, 128, 16, 4, 1024), 5.5), "paper: block 5.5");
    OK(equal(ar_traffic_paper(AR_BLOCK, AR_TWO_PHASE, 129, 16, 4, 1024), 9.0 / 16 + 5),
       "paper: a short last block is a block");
    OK(isnan(ar_traffic_paper(AR_HIGHWAY, AR_TWO_PHASE, 128, 16, 4, 1024)) &&
           isnan(ar_traffic_paper(AR_DENSEFORMER, AR_TWO_PHASE, 128, 16, 4, 1024)) &&
           isnan(ar_traffic_paper(AR_FULL, AR_ONE_PASS, 128, 16, 4, 1024)) &&
           isnan(ar_traffic_paper(AR_BLOCK, AR_ONE_PASS, 128, 16, 4, 1024)),
       "paper: no count of the others");
}

static void test_enumeration(tap *tap_now) {
    static const ar_mechanism_id ids[] = {AR_BLOCK, AR_FULL};
    for (size_t i = 0; i < 2; i++)
        for (size_t f = 0; f < 2; f++) {
            size_t chunks = 0, vectors = 0, passes = 0;
            for (size_t L = 1; L <= 20; L++)
                for (size_t S = 1; S <= L + 1; S++)
                    for (size_t first = 1; first <= L; first++)
                        for (size_t last = first; last <= L; last++, chunks++) {
                            const count c = walk(ids[i], forms[f], S, first, last);
                            const double x =
                                ar_traffic_exact(ids[i], forms[f], L, S, 4, first, last);
                            vectors += !equal(x, (double)c.vectors);
                            passes +=
                                ar_traffic_launches(ids[i], forms[f], S, first, last) != c.passes;
                        }
            OK(vectors == 0, "%s %s: %zu chunks, %zu other counts", ar_mechanism_names[ids[i]],
               ar_form_names[f], chunks, vectors);
            OK(passes == 0, "%s %s: %zu other numbers of passes", ar_mechanism_names[ids[i]],
               ar_form_names[f], passes);
        }
}

static double back(ar_mechanism_id id, ar_form form, size_t first, size_t last) {
    return ar_traffic_backward(id, form, 128, 16, 4, first, last);
}

static void test_backward(tap *tap_now) {
    const double l = 128, S = 16, N = 8, m = 4;
    OK(equal(back(AR_STANDARD, AR_TWO_PHASE, 1, 128) / l, 3), "backward: standard 3");
    OK(equal(back(AR_HIGHWAY, AR_TWO_PHASE, 1, 128), 8 * l + 2), "highway 8L + 2");
    OK(equal(back(AR_MHC, AR_FUSED, 1, 128), (4 * m + 3) * l + m), "mHC (4m + 3)L + m");
    OK(isnan(back(AR_MHC, AR_UNFUSED, 1, 128)), "unfused mHC: none");
    OK(equal(back(AR_BLOCK, AR_TWO_PHASE, 1, 128) / l, 3 * (N + 1) / (2 * S) + 6 - 3 / S),
       "block two-phase 3(N+1)/2S + 6 - 3/S");
    OK(equal(back(AR_BLOCK, AR_AUTO, 1, 128), back(AR_BLOCK, AR_TWO_PHASE, 1, 128)),
       "block auto: two-phase");
    OK(equal(back(AR_BLOCK, AR_ONE_PASS, 1, 128) / l, 3 * (N + 1) / 2 + 6 - 3 / S),
       "block one-pass 3(N+1)/2 + 6 - 3/S");
    OK(equal(back(AR_FULL, AR_ONE_PASS, 1, 128) / l, (l - 1) / 2 + 6), "full one-pass (L-1)/2 + 6");
    OK(equal(back(AR_FULL, AR_TWO_PHASE, 1, 16), back(AR_FULL, AR_ONE_PASS, 1, 16)),
       "a group is a chunk of its own");
    OK(equal(back(AR_DENSEFORMER, AR_TWO_PHASE, 1, 128),
             back(AR_FULL, AR_TWO_PHASE, 1, 128) - 2 * l),
       "denseformer: full without dot");
    OK(back(AR_BLOCK, AR_TWO_PHASE, 5, 4) <= 0, "no layers, nothing");
    OK(equal(back(AR_STANDARD, AR_TWO_PHASE, 120, 999), 27), "not beyond L");
    bool cheaper = true;
    for (size_t n = 1; n <= 8; n++)
        cheaper &= back(AR_BLOCK, AR_TWO_PHASE, 16 * n - 15, 16 * n) <=
                   back(AR_BLOCK, AR_ONE_PASS, 16 * n - 15, 16 * n);
    OK(cheaper, "two phases never move more");
}

static void test_edges(tap *tap_now) {
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++) {
        OK(ar_traffic_exact(id, AR_TWO_PHASE, 8, 4, 4, 5, 4) <= 0 &&
               ar_traffic_launches(id, AR_TWO_PHASE, 4, 5, 4) == 0,
           "%s: no layers, nothing", ar_mechanism_names[id]);
        OK(equal(ar_traffic_exact(id, AR_TWO_PHASE, 8, 4, 4, 5, 99),
                 ar_traffic_exact(id, AR_TWO_PHASE, 8, 4, 4, 5, 8)),
           "%s: not beyond L", ar_mechanism_names[id]);
    }
    OK(ar_traffic_launches(AR_STANDARD, AR_TWO_PHASE, 4, 3, 7) == 5, "standard: one add a layer");
    OK(ar_traffic_launches(AR_BLOCK, AR_TWO_PHASE, 16, 1, 16) == 17, "block: 1 + 15 + 1");
    OK(equal(ar_traffic_head(AR_BLOCK, 128, 16), 10), "head: 8 blocks, embedding, output");
    OK(equal(ar_traffic_head(AR_BLOCK, 129, 16), 11), "head: a short last block");
    OK(equal(ar_traffic_head(AR_FULL, 128, 16), 130), "head of full");
    OK(ar_traffic_head(AR_STANDARD, 128, 16) <= 0, "head of standard");
}

int main(void) {
    TAP_START;
    test_closed_forms(tap_now);
    test_paper(tap_now);
    test_enumeration(tap_now);
    test_backward(tap_now);
    test_edges(tap_now);
    return DONE();
}
