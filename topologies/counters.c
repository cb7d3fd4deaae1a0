#include "counters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"

/* ---- one event ---- */

#ifdef HAVE_PAPI

#include <papi.h>

/* Start PAPI. False: *why says why not. */
static bool start_papi(const char **why) {
    const int version = PAPI_library_init(PAPI_VER_CURRENT);
    if (version == PAPI_VER_CURRENT) return true;
    *why = version > 0 ? "header and library of PAPI differ in version" : PAPI_strerror(version);
    return false;
}

/* Parts of PAPI that count nothing here, and why. */
static void print_disabled(FILE *out) {
    for (int i = 0; i < PAPI_num_components(); i++) {
        const PAPI_component_info_t *part = PAPI_get_component_info(i);
        if (part && part->disabled && strncmp(part->name, "perf", 4) == 0)
            fprintf(out, "counters of PAPI's %s: none: %s\n", part->name, part->disabled_reason);
    }
}

/* Add the events, start, run, stop. NULL: done. Else the step that failed; *code: PAPI's. */
static const char *count(const char *const *event, size_t n, void (*run)(void *), void *user,
                         long long *value, int *code) {
    int set = PAPI_NULL;
    const char *step = "create";
    *code = PAPI_create_eventset(&set);
    for (size_t i = 0; *code == PAPI_OK && i < n; i++)
        step = "add", *code = PAPI_add_named_event(set, event[i]);
    if (*code == PAPI_OK) step = "start", *code = PAPI_start(set);
    if (*code == PAPI_OK) {
        if (run) run(user);
        step = "stop", *code = PAPI_stop(set, value);
    }
    if (set != PAPI_NULL) {
        PAPI_cleanup_eventset(set);
        PAPI_destroy_eventset(&set);
    }
    return *code == PAPI_OK ? NULL : step;
}

static bool try_papi(const char *event, char *why, size_t size) {
    int code;
    long long value;
    const char *step = count(&event, 1, NULL, NULL, &value, &code);
    if (step) snprintf(why, size, "%s: %s", step, PAPI_strerror(code));
    return !step;
}

ar_status ar_counters_count(const char *const *event, size_t n, void (*run)(void *), void *user,
                            long long *value, ar_err *err) {
    const char *why;
    int code;
    if (!start_papi(&why)) return ar_fail(err, AR_ERUN, "PAPI: %s", why);
    const char *step = count(event, n, run, user, value, &code);
    if (!step) return AR_OK;
    return ar_fail(err, AR_ERUN, "PAPI: %s of %zu events together: %s", step, n,
                   PAPI_strerror(code));
}

#else

static bool start_papi(const char **why) {
    *why = "built without PAPI";
    return false;
}

static void print_disabled(FILE *out) {
    (void)out;
}

static bool try_papi(const char *event, char *why, size_t size) {
    (void)event;
    snprintf(why, size, "built without PAPI");
    return false;
}

ar_status ar_counters_count(const char *const *event, size_t n, void (*run)(void *), void *user,
                            long long *value, ar_err *err) {
    (void)event, (void)n, (void)run, (void)user, (void)value;
    return ar_fail(err, AR_ERUN, "built without PAPI (Debian: apt install libpapi-dev)");
}

#endif

bool ar_counter_try(const char *event, char *why, size_t size) {
    const char *reason;
    if (event[0] == '/') {
        const bool there = access(event, F_OK) == 0;
        snprintf(why, size, "%s", there ? "there, but only through perf_event_open" : "not there");
        return false;
    }
    if (start_papi(&reason)) return try_papi(event, why, size);
    snprintf(why, size, "PAPI: %s", reason);
    return false;
}

/* ---- the table ---- */

/* Is the line a candidate? Blank lines and comments are not. False for good: *bad. */
static bool parse(const char *line, ar_counter *c, bool *bad) {
    char bytes[16];
    *bad = false;
    line += strspn(line, " \t\n");
    if (*line == '\0' || *line == '#') return false;
    *bad = sscanf(line, "%63s %255s %15[0-9] %255[^\n]", c->vendor, c->event, bytes, c->what) != 4;
    if (*bad) return false;
    c->bytes = strtod(bytes, NULL);
    return true;
}

ar_status ar_counters_read(const char *vendor, ar_counter list[AR_COUNTERS_MAX], size_t *count,
                           size_t *others, ar_err *err) {
    char path[4096], line[1024];
    ar_status status =
        ar_data_find("topologies", "counters", ".txt", path, sizeof path, err, AR_EINPUT);
    if (status != AR_OK) return status;
    FILE *in = fopen(path, "r");
    if (!in) return ar_fail(err, AR_EINPUT, "%s: cannot read", path);
    *count = *others = 0;
    for (int number = 1; status == AR_OK && fgets(line, sizeof line, in); number++) {
        ar_counter c;
        bool bad;
        if (!parse(line, &c, &bad)) {
            if (bad)
                status = ar_fail(err, AR_EINPUT, "%s:%d: expected vendor, event, bytes, what it is",
                                 path, number);
        } else if (strcmp(c.vendor, "any") != 0 && !strstr(vendor, c.vendor)) {
            ++*others;
        } else if (*count == AR_COUNTERS_MAX) {
            status = ar_fail(err, AR_EINPUT, "%s:%d: more than %d candidates for one processor",
                             path, number, AR_COUNTERS_MAX);
        } else {
            list[(*count)++] = c;
        }
    }
    fclose(in);
    return status;
}

static void print_candidate(const ar_counter *c, FILE *out, bool papi) {
    char why[256] = "";
    fprintf(out, "counter %s: ", c->event);
    if (c->event[0] == '/')
        fprintf(out, "%s",
                access(c->event, F_OK) == 0 ? "there, through perf_event_open" : "no: not there");
    else if (!papi)
        fprintf(out, "not tried");
    else if (ar_counter_try(c->event, why, sizeof why))
        fprintf(out, "works");
    else
        fprintf(out, "no: %s", why);
    fprintf(out, " (%s", c->what);
    if (c->bytes > 0) fprintf(out, "; %.0f B a count", c->bytes);
    fprintf(out, ")\n");
}

static void print_paranoid(FILE *out) {
    char text[32] = "";
    FILE *in = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    if (!in) return;
    if (fgets(text, sizeof text, in))
        fprintf(out, "perf_event_paranoid: %.*s\n", (int)strcspn(text, "\n"), text);
    fclose(in);
}

ar_status ar_counters_print(const char *vendor, FILE *out, ar_err *err) {
    const char *why = NULL;
    size_t count_here = 0, others = 0;
    ar_counter *list = malloc(AR_COUNTERS_MAX * sizeof *list);
    if (!list) return ar_fail(err, AR_ERUN, "out of memory");
    const bool papi = start_papi(&why);
    fprintf(out, "counters: %s%s\n", papi ? "through PAPI" : "PAPI is not used: ", papi ? "" : why);
    if (papi) print_disabled(out);
    print_paranoid(out);
    const ar_status status = ar_counters_read(vendor, list, &count_here, &others, err);
    for (size_t i = 0; status == AR_OK && i < count_here; i++)
        print_candidate(&list[i], out, papi);
    free(list);
    if (status == AR_OK) fprintf(out, "counters of other processors: %zu not tried\n", others);
    return status;
}
