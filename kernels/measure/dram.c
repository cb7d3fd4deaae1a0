#include "dram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"

enum { CHANNELS = 16, EVENTS = 64 };

/* The events that work, and why the others do not. */
typedef struct {
    char name[EVENTS][256];
    double bytes[EVENTS];
    size_t count;
    char refused[900];
} probed;

static bool add(probed *p, const char *event, double bytes, char *why, size_t size) {
    if (p->count == EVENTS) {
        snprintf(why, size, "too many events");
        return false;
    }
    if (!ar_counter_try(event, why, size)) return false;
    snprintf(p->name[p->count], sizeof p->name[0], "%s", event);
    p->bytes[p->count++] = bytes;
    return true;
}

static void refuse(probed *p, const char *event, const char *why) {
    const size_t used = strlen(p->refused);
    snprintf(p->refused + used, sizeof p->refused - used, "%s%s: %s", used ? "; " : "", event, why);
}

/* A candidate, and if it names memory channel 0 ("..._imc0::...") the other channels. */
static void probe(probed *p, const ar_counter *c) {
    char why[256], event[256];
    if (!add(p, c->event, c->bytes, why, sizeof why)) {
        refuse(p, c->event, why);
        return;
    }
    const char *zero = strstr(c->event, "imc0::");
    for (int channel = 1; zero && channel < CHANNELS; channel++) {
        snprintf(event, sizeof event, "%.*simc%d::%s", (int)(zero - c->event), c->event, channel,
                 zero + strlen("imc0::"));
        if (!add(p, event, c->bytes, why, sizeof why)) return; /* no more channels */
    }
}

ar_status ar_dram_measure(const char *vendor, void (*run)(void *), void *user, double *bytes,
                          char *note, size_t size, ar_err *err) {
    size_t count = 0, others = 0;
    ar_counter *list = malloc(AR_COUNTERS_MAX * sizeof *list);
    probed *p = calloc(1, sizeof *p);
    ar_status status = list && p ? AR_OK : ar_fail(err, AR_ERUN, "out of memory");
    if (status == AR_OK) status = ar_counters_read(vendor, list, &count, &others, err);
    for (size_t i = 0; status == AR_OK && i < count; i++)
        if (list[i].bytes > 0) probe(p, &list[i]);
    if (status == AR_OK && p->count == 0)
        status = ar_fail(err, AR_ERUN,
                         "no counter of DRAM traffic starts on this machine (needed: the memory "
                         "controller's counters, on hardware or passed through by the hypervisor, "
                         "and perf_event_paranoid <= 0 or CAP_PERFMON). Tried: %s",
                         p->refused);
    if (status == AR_OK) {
        const char *name[EVENTS];
        long long value[EVENTS] = {0};
        double sum = 0;
        for (size_t i = 0; i < p->count; i++)
            name[i] = p->name[i];
        status = ar_counters_count(name, p->count, run, user, value, err);
        for (size_t i = 0; i < p->count; i++)
            sum += (double)value[i] * p->bytes[i];
        if (status == AR_OK) *bytes = sum;
        snprintf(note, size, "%zu PAPI events, the first %s", p->count, p->name[0]);
    }
    free(p);
    free(list);
    return status;
}
