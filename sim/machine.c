#include "machine.h"

#include <stdio.h>
#include <unistd.h>

#include "bind.h"
#include "engine.h"
#include "memory.h"

/* Ranks that share this one's memory: those of the node, or all of a simulation. */
static MPI_Comm local_ranks(MPI_Comm comm) {
    MPI_Comm local = MPI_COMM_NULL;
    if (ar_engine_simulates())
        MPI_Comm_dup(comm, &local);
    else
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    return local;
}

ar_status ar_machine_bind(const ar_point *point, MPI_Comm comm, ar_err *err) {
    if (ar_engine_simulates() || !point->bind) return AR_OK;
    MPI_Comm local = local_ranks(comm);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(local, &rank);
    MPI_Comm_size(local, &ranks);
    MPI_Comm_free(&local);
    if (ranks > sysconf(_SC_NPROCESSORS_ONLN)) return AR_OK;
    char where[256];
    return ar_bind_core(rank, where, sizeof where, err);
}

ar_status ar_machine_check_memory(const ar_point *point, MPI_Comm comm, ar_err *err) {
    int rank = 0, ranks = 0;
    double mine_B = 0, all_B = 0;
    MPI_Comm_rank(comm, &rank);
    const ar_status status = ar_memory_rank_B(point, ar_engine_simulates(), rank, &mine_B, err);
    MPI_Comm local = local_ranks(comm);
    MPI_Comm_size(local, &ranks);
    MPI_Allreduce(&mine_B, &all_B, 1, MPI_DOUBLE, MPI_SUM, local);
    MPI_Comm_free(&local);
    if (status != AR_OK) return status;
    char whose[64];
    snprintf(whose, sizeof whose, "%d ranks on this machine", ranks);
    return ar_memory_check(all_B, whose, err);
}
