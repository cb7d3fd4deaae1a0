#ifndef AR_MACHINE_H
#define AR_MACHINE_H

/* The ranks' place on the machine. */

#include <mpi.h>

#include "point.h"

/* Bind this rank to a core of its own where the launcher left it free. Nothing is
 * done in a simulation, or where the node has fewer cores than ranks. Collective. */
ar_status ar_machine_bind(const ar_point *point, MPI_Comm comm, ar_err *err);

/* Do the ranks of this node fit in its free memory? Collective. */
ar_status ar_machine_check_memory(const ar_point *point, MPI_Comm comm, ar_err *err);

#endif
