/* Rank programs that do not complete: deadlock, abort, exit, crash, hang. What they
 * do is their first argument; smpirun says success to some of them. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int rank = 0, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "deadlock") == 0)
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(what, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(what, "exit") == 0 && rank == 1) exit(5);
    if (strcmp(what, "crash") == 0 && rank == 1) abort();
    while (strcmp(what, "hang") == 0) sleep(1);
    MPI_Finalize();
    return 0;
}
