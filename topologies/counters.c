#include "counters.h"

#include <stdbool.h>
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

/* Add the event, start and stop it. NULL: works. Else the step; *code: PAPI's. */
static const char *try_event(const char *event, int *code) {
    int set = PAPI_NULL;
    long long count;
    const char *step = "create";
    *code = PAPI_create_eventset(&set);
    if (*code == PAPI_OK) step = "add", *code = PAPI_add_named_event(set, event);
    if (*code == PAPI_OK) step = "start", *code = PAPI_start(set);
    if (*code == PAPI_OK) step = "stop", *code = PAPI_stop(set, &count);
    if (set != PAPI_NULL) {
        PAPI_cleanup_eventset(set);
        PAPI_destroy_eventset(&set);
    }
    return *code == PAPI_OK ? NULL : step;
}

static void print_papi_event(const char *event, FILE *out) {
    int code;
    const char *step = try_event(event, &code);
    if (step)
        fprintf(out, "no: %s: %s", step, PAPI_strerror(code));
    else
        fprintf(out, "works");
}

#else

static bool start_papi(const char **why) {
    *why = "built without PAPI";
    return false;
}

static void print_disabled(FILE *out) {
    (void)out;
}

static void print_papi_event(const char *event, FILE *out) {
    (void)event;
    fprintf(out, "not tried");
}

#endif

/* ---- the table ---- */

typedef struct {
    char vendor[64], event[256], bytes[16], what[256];
} candidate;

/* Is the line a candidate? Blank lines and comments are not. False for good: *bad. */
static bool parse(const char *line, candidate *c, bool *bad) {
    *bad = false;
    line += strspn(line, " \t\n");
    if (*line == '\0' || *line == '#') return false;
    *bad =
        sscanf(line, "%63s %255s %15[0-9] %255[^\n]", c->vendor, c->event, c->bytes, c->what) != 4;
    return !*bad;
}

static void print_candidate(const candidate *c, FILE *out, bool papi) {
    fprintf(out, "counter %s: ", c->event);
    if (c->event[0] == '/')
        fprintf(out, "%s",
                access(c->event, F_OK) == 0 ? "there, through perf_event_open" : "no: not there");
    else if (papi)
        print_papi_event(c->event, out);
    else
        fprintf(out, "not tried");
    fprintf(out, " (%s", c->what);
    if (strcmp(c->bytes, "0") != 0) fprintf(out, "; %s B a count", c->bytes);
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
    char path[4096], line[1024];
    const char *why = NULL;
    ar_status status =
        ar_data_find("topologies", "counters", ".txt", path, sizeof path, err, AR_EINPUT);
    if (status != AR_OK) return status;
    FILE *in = fopen(path, "r");
    if (!in) return ar_fail(err, AR_EINPUT, "%s: cannot read", path);
    const bool papi = start_papi(&why);
    fprintf(out, "counters: %s%s\n", papi ? "through PAPI" : "PAPI is not used: ", papi ? "" : why);
    if (papi) print_disabled(out);
    print_paranoid(out);
    int number = 0, others = 0;
    while (status == AR_OK && fgets(line, sizeof line, in)) {
        candidate c;
        bool bad;
        number++;
        if (!parse(line, &c, &bad)) {
            if (bad)
                status = ar_fail(err, AR_EINPUT, "%s:%d: expected vendor, event, bytes, what it is",
                                 path, number);
            continue;
        }
        if (strcmp(c.vendor, "any") == 0 || strstr(vendor, c.vendor))
            print_candidate(&c, out, papi);
        else
            others++;
    }
    fclose(in);
    if (status == AR_OK) fprintf(out, "counters of other processors: %d not tried\n", others);
    return status;
}
