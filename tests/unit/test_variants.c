/* The ablations as subjects of bench: which there are, what they move, that they are right. */

#include <math.h>
#include <string.h>

#include "subject.h"
#include "tap.h"

static bool near(double got, double wanted, double by) {
    return fabs(got - wanted) <= by;
}

static ar_case variant_case(ar_direction direction, ar_mechanism_id id, ar_form form,
                            ar_ablation ablation, size_t L, size_t S) {
    return (ar_case){.mechanism = id,
                     .form = form,
                     .direction = direction,
                     .ablation = ablation,
                     .window = 2,
                     .layers = L,
                     .block = S,
                     .tokens = 3,
                     .width = 24,
                     .streams = 3,
                     .threads = 1};
}

/* Do the passes move what is counted? */
static bool variant_moves(const ar_case *c) {
    ar_err err;
    ar_subject *s = NULL;
    ar_counts counts;
    if (ar_subject_open(c, &s, &err) != AR_OK) return false;
    ar_subject_run(s);
    const ar_ledger moved = ar_subject_moved(s);
    const double L = (double)c->layers;
    ar_subject_close(s);
    ar_subject_counts(c, &counts);
    return near((double)moved.loads, counts.reads * L, 1e-9) &&
           near((double)moved.stores, counts.writes * L, 1e-9) &&
           near(counts.reads + counts.writes, counts.exact, 1e-12) &&
           counts.fused <= counts.exact + 1e-9;
}

/* And come the inputs (backward: the gradients) near the definition? */
static void test_variant(tap *tap_now, const ar_case *one) {
    size_t cases = 0, moved = 0, right = 0, other = 0;
    for (size_t L = 1; L <= 9; L += 2)
        for (size_t S = 1; S <= 5; S++)
            for (ar_store store = AR_STORE_FP32; store <= AR_STORE_BF16; store++, cases++) {
                ar_case c = *one;
                double error = NAN, tolerance = 0, plain = 0;
                ar_err err;
                c.layers = L;
                c.block = S;
                c.store = store;
                moved += variant_moves(&c);
                right +=
                    ar_subject_error(&c, &error, &tolerance, &err) == AR_OK && error <= tolerance;
                c.ablation = AR_NO_ABLATION;
                ar_subject_error(&c, &plain, &tolerance, &err);
                other += fabs(error - plain) > 0;
            }
    OK(moved == cases && right == cases,
       "%s %s %s, %s: of %zu, %zu move their count, %zu are right",
       ar_mechanism_names[one->mechanism], ar_form_names[one->form],
       ar_ablation_names[one->ablation], ar_direction_names[one->direction], cases, moved, right);
    OK(one->ablation == AR_NO_ABLATION || other > 0, "and %zu differ from the plain mechanism",
       other);
}

static size_t test_direction(tap *tap_now, ar_direction direction) {
    size_t variants = 0;
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++)
        for (ar_form form = AR_TWO_PHASE; form <= AR_UNFUSED; form++)
            for (ar_ablation a = AR_NO_ABLATION; ar_ablation_names[a]; a++) {
                const ar_case c = variant_case(direction, id, form, a, 4, 2);
                const char *why;
                if (!ar_subject_exists(&c, &why)) continue;
                if (!ar_subject_has_forms(id) && form != ar_subject_only_form(id)) continue;
                variants += a != AR_NO_ABLATION;
                test_variant(tap_now, &c);
            }
    return variants;
}

static void test_variants(tap *tap_now) {
    size_t variants = test_direction(tap_now, AR_FORWARD);
    OK(variants == 16, "%zu variants: Full 2 x 2 + 2, Block 3 x 2 + 1, Highway 1, mHC 2", variants);
    variants = test_direction(tap_now, AR_BACKWARD);
    OK(variants == 15, "%zu backward: there mHC has one form", variants);
    ar_counts c;
    ar_subject_counts(&(ar_case){.mechanism = AR_HIGHWAY,
                                 .ablation = AR_SCALAR_GATE,
                                 .layers = 7,
                                 .block = 2,
                                 .tokens = 1,
                                 .width = 8,
                                 .streams = 4,
                                 .threads = 1},
                      &c);
    OK(c.exact == 3 && c.reads == 2 && c.fused == 3, "a scalar gate: 3");
    ar_case full = variant_case(AR_FORWARD, AR_FULL, AR_ONE_PASS, AR_NO_ABLATION, 8, 4);
    ar_subject_counts(&full, &c);
    OK(near(c.exact, 36.0 / 8 + 1, 1e-12), "Full one-pass: 1 + ... + 8 sources");
    full.ablation = AR_OWN_QUERY;
    ar_subject_counts(&full, &c);
    OK(near(c.exact, 36.0 / 8 + 2, 1e-12) && isnan(c.paper), "an own query is one read more");
    full.ablation = AR_SLIDING_WINDOW;
    ar_subject_counts(&full, &c);
    OK(near(c.exact, 21.0 / 8 + 1, 1e-12) && isnan(c.paper), "a window of 2: 1 + 2 + 6 x 3");
    full = variant_case(AR_FORWARD, AR_BLOCK, AR_TWO_PHASE, AR_OWN_QUERY, 8, 4);
    const struct {
        ar_mechanism_id id;
        ar_form form;
        ar_ablation ablation;
        double exact, fused; /* of 8 layers, S = 4, by hand */
        const char *what;
    } back[] = {
        {AR_BLOCK, AR_TWO_PHASE, AR_SIGMOID, 19 + 22, 19 + 22, "4p + 3n + s"},
        {AR_BLOCK, AR_ONE_PASS, AR_SIGMOID, 25 + 37, 19 + 22, "s(3n + 1) + 3p"},
        {AR_BLOCK, AR_ONE_PASS, AR_RAW_KEYS, 33 + 45, 22 + 25, "as published"},
        {AR_BLOCK, AR_ONE_PASS, AR_OWN_QUERY, 41 + 53, 33 + 39, "s(3n + 5) + 3p"},
        {AR_FULL, AR_ONE_PASS, AR_OWN_QUERY, 3 * 36 + 5 * 8, 42 + 66, "3l + 5"},
        {AR_FULL, AR_ONE_PASS, AR_SLIDING_WINDOW, 34 + 11 + 16, 34 + 11 + 16 - 9, "13 pairs"},
        {AR_FULL, AR_TWO_PHASE, AR_SIGMOID, 22 + 34, 22 + 34, "less 2 a layer"},
        {AR_HIGHWAY, AR_TWO_PHASE, AR_SCALAR_GATE, 50, 50, "6s + 2"},
        {AR_MHC, AR_FUSED, AR_UNCONSTRAINED, 8 * 15 + 3, 8 * 12 + 3, "(4m + 3)s + m"},
    };
    for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
        const ar_case one =
            variant_case(AR_BACKWARD, back[i].id, back[i].form, back[i].ablation, 8, 4);
        ar_subject_counts(&one, &c);
        OK(near(8 * c.exact, back[i].exact, 1e-9) && near(8 * c.fused, back[i].fused, 1e-9),
           "%s %s backward, %s: %g, fused %g", ar_mechanism_names[one.mechanism],
           ar_ablation_names[one.ablation], back[i].what, 8 * c.exact, 8 * c.fused);
    }
    const char *why = "";
    OK(!ar_subject_exists(&full, &why) && strstr(why, "variant"), "no own query in two phases: %s",
       why);
}

int main(void) {
    TAP_START;
    test_variants(tap_now);
    return DONE();
}
