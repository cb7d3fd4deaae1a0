#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *ar_engine_name(void) {
    return "openmpi";
}

void ar_engine_version(char *text, size_t size) {
    char full[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(full, &length);
    const size_t first = strcspn(full, ",\n");
    const size_t kept = first < size ? first : size - 1;
    memcpy(text, full, kept);
    text[kept] = '\0';
}

bool ar_engine_simulates(void) {
    return false;
}

double ar_engine_now_s(void) {
    return MPI_Wtime();
}

void ar_engine_elapse(double seconds, ar_progress_fn *progress, void *user) {
    const double nap_s = 50e-6, end_s = MPI_Wtime() + seconds;
    for (double left_s = seconds; left_s > 0; left_s = end_s - MPI_Wtime()) {
        progress(user);
        const double sleep_s = left_s < nap_s ? left_s : nap_s;
        nanosleep(&(struct timespec){.tv_nsec = (long)(sleep_s * 1e9)}, NULL);
    }
}

void ar_engine_progress(MPI_Comm comm) {
    int pending = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &pending, MPI_STATUS_IGNORE);
}

double ar_engine_start(MPI_Comm comm) {
    MPI_Barrier(comm);
    return MPI_Wtime();
}

void *ar_engine_payload(size_t size) {
    return calloc(size ? size : 1, 1);
}

void ar_engine_payload_free(void *payload, size_t size) {
    (void)size;
    free(payload);
}
