/* The least PAPI tool there can be: preloaded into a program, it counts attnres's events
 * while that runs and prints them on stderr at its end, if anything was counted: MPI starts
 * processes of its own. */

#include <papi.h>
#include <stdio.h>

enum { EVENTS = 3 };
static const char *const name[EVENTS] = {"LOADED_BYTES", "STORED_BYTES", "PASSES"};
static int set = PAPI_NULL;

__attribute__((constructor)) static void open_tool(void) {
    char event[64];
    PAPI_library_init(PAPI_VER_CURRENT);
    PAPI_create_eventset(&set);
    for (int i = 0; i < EVENTS; i++) {
        snprintf(event, sizeof event, "sde:::attnres::%s", name[i]);
        const int code = PAPI_add_named_event(set, event);
        if (code != PAPI_OK) fprintf(stderr, "%s: %s\n", event, PAPI_strerror(code));
    }
    PAPI_start(set);
}

__attribute__((destructor)) static void close_tool(void) {
    long long value[EVENTS] = {0};
    PAPI_stop(set, value);
    if (value[EVENTS - 1] == 0) return;
    for (int i = 0; i < EVENTS; i++)
        fprintf(stderr, "%s %lld\n", name[i], value[i]);
}
