#include "engine.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/version.h>
#include <smpi/smpi.h>
#include <stdio.h>

const char *ar_engine_name(void) {
    return "smpi";
}

void ar_engine_version(char *text, size_t size) {
    snprintf(text, size, "SimGrid %d.%d", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
}

bool ar_engine_simulates(void) {
    return true;
}

/* SimGrid's clock and sleep, not SMPI's: those read the thread's CPU time around
 * every call, a third of the wall time of a large simulation. */
double ar_engine_now_s(void) {
    return simgrid_get_clock();
}

void ar_engine_elapse(double seconds, ar_progress_fn *progress, void *user) {
    (void)progress; /* simulated messages move by themselves */
    (void)user;
    if (seconds > 0) sg_actor_sleep_for(seconds);
}

void ar_engine_progress(MPI_Comm comm) {
    (void)comm; /* and a probe would cost simulated time */
}

/* A barrier lets ranks go at different simulated times. All agree on a later time
 * and wait for it. */
double ar_engine_start(MPI_Comm comm) {
    const double now_s = ar_engine_now_s();
    double latest_s = now_s;
    MPI_Allreduce(&now_s, &latest_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    sg_actor_sleep_for(latest_s + 1 - ar_engine_now_s());
    return ar_engine_now_s();
}

/* The ranks of a simulation are threads of one process, so this table is theirs
 * together: one payload of each size for all, neither stored nor copied. */
enum { SIZES_MAX = 16 };
static struct {
    void *memory;
    size_t size, users;
} payloads[SIZES_MAX];

void *ar_engine_payload(size_t size) {
    int vacant = -1;
    for (int i = 0; i < SIZES_MAX; i++) {
        if (payloads[i].users == 0) {
            vacant = i;
        } else if (payloads[i].size == size) {
            payloads[i].users++;
            return payloads[i].memory;
        }
    }
    if (vacant < 0) return NULL;
    payloads[vacant].memory = SMPI_SHARED_MALLOC(size ? size : 1);
    if (!payloads[vacant].memory) return NULL;
    payloads[vacant].size = size;
    payloads[vacant].users = 1;
    return payloads[vacant].memory;
}

void ar_engine_payload_free(void *payload, size_t size) {
    for (int i = 0; i < SIZES_MAX; i++) {
        if (payloads[i].users == 0 || payloads[i].memory != payload || payloads[i].size != size)
            continue;
        if (--payloads[i].users == 0) SMPI_SHARED_FREE(payload);
        return;
    }
}
