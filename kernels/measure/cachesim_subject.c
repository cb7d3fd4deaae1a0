/* The side of the cache simulation that runs under valgrind. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim.h"

#ifdef HAVE_VALGRIND
#include <valgrind/callgrind.h>
#else /* valgrind's headers (Debian: valgrind) were not there when this was built */
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { FLUSH_B = 2 * 1048576 }; /* twice the simulated last-level cache */

/* Read a buffer of twice the cache, so that all dirty lines are written back. */
static uint64_t flush(const uint64_t *buffer) {
    uint64_t sum = 0;
    for (size_t i = 0; i < FLUSH_B / sizeof *buffer; i += 8)
        sum += ((const volatile uint64_t *)buffer)[i];
    return sum;
}

static int find(const char *const *names, const char *name) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

static bool parse(char **argv, ar_case *c) {
    const int mechanism = find(ar_mechanism_names, argv[1]), form = find(ar_form_names, argv[2]);
    const int store = find(ar_store_names, argv[3]), way = find(ar_direction_names, argv[4]);
    const int phase = find(ar_phase_names, argv[5]), ablation = find(ar_ablation_names, argv[6]);
    if (mechanism < 0 || form < 0 || store < 0 || way < 0 || phase < 0 || ablation < 0)
        return false;
    *c = (ar_case){.mechanism = (ar_mechanism_id)mechanism,
                   .form = (ar_form)form,
                   .store = (ar_store)store,
                   .direction = (ar_direction)way,
                   .phase = (ar_phase)phase,
                   .ablation = (ar_ablation)ablation,
                   .threads = 1};
    size_t *const number[] = {&c->layers, &c->block,   &c->tokens,
                              &c->width,  &c->streams, &c->window};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        *number[i] = (size_t)strtoull(argv[7 + i], NULL, 10);
        if (*number[i] == 0) return false;
    }
    c->balance = strtod(argv[13], NULL);
    return true;
}

ar_status ar_cachesim_subject(int argc, char **argv, ar_err *err) {
    ar_case c;
    ar_subject *subject = NULL;
    if (argc != 14 || !parse(argv, &c))
        return ar_fail(err, AR_EUSAGE, "%s is started by bench --traffic cachesim, not by hand",
                       AR_CACHESIM_COMMAND);
    if (!RUNNING_ON_VALGRIND)
        return ar_fail(err, AR_ERUN,
                       "built without valgrind's headers (Debian: apt install valgrind), or not "
                       "under valgrind");
    uint64_t *buffer = calloc(1, FLUSH_B);
    if (!buffer) return ar_fail(err, AR_ERUN, "no memory");
    memset(buffer, 1, FLUSH_B);
    const ar_status status = ar_subject_open(&c, &subject, err);
    if (status == AR_OK) {
        uint64_t sum = 0;
        CALLGRIND_START_INSTRUMENTATION;
        sum += flush(buffer); /* warms the simulated cache and the flush's own code */
        CALLGRIND_ZERO_STATS;
        sum += flush(buffer);
        CALLGRIND_DUMP_STATS_AT("empty");
        CALLGRIND_ZERO_STATS;
        ar_subject_run(subject);
        sum += flush(buffer);
        CALLGRIND_DUMP_STATS_AT("region");
        printf("%s %llu\n", AR_CACHESIM_COMMAND, (unsigned long long)sum);
        ar_subject_close(subject);
    }
    free(buffer);
    return status;
}
