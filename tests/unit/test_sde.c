/* What kernels move, read as events through PAPI: to the byte. */

#include "subject.h"
#include "tap.h"

#if defined HAVE_SDE && defined HAVE_PAPI

#include <papi.h>

enum { EVENTS = 3, T = 5, D = 24 };

static bool read_events(ar_subject *subject, int runs, long long value[EVENTS]) {
    static const char *const name[EVENTS] = {
        "sde:::attnres::LOADED_BYTES", "sde:::attnres::STORED_BYTES", "sde:::attnres::PASSES"};
    int set = PAPI_NULL;
    bool good = PAPI_create_eventset(&set) == PAPI_OK;
    for (int i = 0; good && i < EVENTS; i++)
        good = PAPI_add_named_event(set, name[i]) == PAPI_OK;
    good = good && PAPI_start(set) == PAPI_OK;
    for (int i = 0; i < runs; i++)
        ar_subject_run(subject);
    good = good && PAPI_stop(set, value) == PAPI_OK;
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
    return good;
}

static void test_case(tap *tap_now, const ar_sde *sde, ar_case c, long long passes) {
    const double bytes = (double)(c.layers * c.tokens * c.width * ar_store_B(c.store));
    long long value[EVENTS] = {-1, -1, -1};
    ar_counts counts;
    ar_err err;
    ar_subject *subject = NULL;
    ar_subject_counts(&c, &counts);
    OK(ar_subject_open(&c, &subject, &err) == AR_OK, "%s opens", ar_mechanism_names[c.mechanism]);
    if (!subject) return;
    OK(read_events(subject, 1, value) && value[0] == 0 && value[1] == 0 && value[2] == 0,
       "not published: nothing is counted");
    ar_subject_publish(subject, sde);
    OK(read_events(subject, 3, value), "three repetitions are read");
    OK((double)value[0] == 3 * counts.reads * bytes, "loaded: %lld B, by count %g", value[0],
       3 * counts.reads * bytes);
    OK((double)value[1] == 3 * counts.writes * bytes, "stored: %lld B, by count %g", value[1],
       3 * counts.writes * bytes);
    OK(value[2] == 3 * passes, "passes: %lld, by hand %lld", value[2], 3 * passes);
    ar_subject_close(subject);
}

static void test_events(tap *tap_now) {
    ar_case c = {.mechanism = AR_STANDARD,
                 .form = AR_TWO_PHASE,
                 .layers = 8,
                 .block = 4,
                 .tokens = T,
                 .width = D,
                 .streams = 4,
                 .threads = 2};
    const ar_sde sde = ar_sde_open(), again = ar_sde_open();
    OK(PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT, "PAPI starts");
    OK(sde.loaded && sde.stored && sde.passes, "the events are registered");
    OK(sde.loaded == again.loaded && sde.passes == again.passes, "and once for the process");
    test_case(tap_now, &sde, c, 8); /* an addition for each layer */
    c.mechanism = AR_BLOCK;
    c.store = AR_STORE_BF16;
    test_case(tap_now, &sde, c, 2 * (1 + 3 + 1)); /* a block: phase 1, merges, last addition */
}

#else

static void test_events(tap *tap_now) {
    const ar_sde sde = ar_sde_open();
    ar_sde_add(&sde, &(ar_ledger){1, 1, 1}, 4);
    OK(!sde.loaded && !sde.stored && !sde.passes, "built without libsde or PAPI: no events");
}

#endif

int main(void) {
    TAP_START;
    test_events(tap_now);
    return DONE();
}
