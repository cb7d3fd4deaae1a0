#include "engine.h"

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

void ar_engine_elapse(double seconds, ar_progress_fn *progress, void *user) {
    (void)progress; /* simulated messages move by themselves */
    (void)user;
    if (seconds > 0) smpi_execute_benched(seconds);
}

/* A barrier lets ranks go at different simulated times. All agree on a later time
 * and wait for it. */
double ar_engine_start(MPI_Comm comm) {
    const double now_s = MPI_Wtime();
    double latest_s = now_s;
    MPI_Allreduce(&now_s, &latest_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    const double start_s = latest_s + 1;
    const double left_s = start_s - MPI_Wtime();
    if (left_s > 0) smpi_execute_benched(left_s);
    return MPI_Wtime();
}

/* One shared page range behind all payloads: it is neither stored nor copied. */
void *ar_engine_payload(size_t size) {
    return SMPI_SHARED_MALLOC(size ? size : 1);
}

void ar_engine_payload_free(void *payload) {
    SMPI_SHARED_FREE(payload);
}
