#ifndef AR_ENGINE_H
#define AR_ENGINE_H

/* What differs between Open MPI and SMPI: one small file each. */

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* "openmpi" or "smpi". */
const char *ar_engine_name(void);
void ar_engine_version(char *text, size_t size);

/* Does time pass by what is charged, not by what is done? */
bool ar_engine_simulates(void);

/* Seconds; simulated where the engine simulates. */
double ar_engine_now_s(void);

/* Let modelled seconds pass. progress is called now and then so that messages
 * move meanwhile; the core is not burnt. */
typedef void ar_progress_fn(void *user);
void ar_engine_elapse(double seconds, ar_progress_fn *progress, void *user);

/* Let messages of comm move while this rank computes. */
void ar_engine_progress(MPI_Comm comm);

/* All ranks start a step together; returns the start. */
double ar_engine_start(MPI_Comm comm);

/* Memory for payloads whose contents do not matter, for sends and receives alike;
 * NULL when out of memory. Pass the same size to the free. */
void *ar_engine_payload(size_t size);
void ar_engine_payload_free(void *payload, size_t size);

#endif
