#ifndef AR_SDE_H
#define AR_SDE_H

/* What passes move, as software-defined events of PAPI (libsde), counted since the start of
 * the process and read like hardware counters by any tool or program that uses PAPI in it:
 *     sde:::attnres::LOADED_BYTES   sde:::attnres::STORED_BYTES   sde:::attnres::PASSES
 * Bytes are exact counts from the passes' ledgers, not measurements. */

#include "mechanism.h"

/* libsde's handles, which live as long as the process, so that a tool that reads at its end
 * still finds them. NULL, and nothing is counted, where this was built without libsde. */
typedef struct {
    void *loaded, *stored, *passes;
} ar_sde;

/* Register the events; the ranks of a simulation, which share a process, share them. */
ar_sde ar_sde_open(void);

/* Count what a ledger gained, with vectors of vector_B bytes (T d times the storage's). */
void ar_sde_add(const ar_sde *sde, const ar_ledger *gained, size_t vector_B);

#endif
