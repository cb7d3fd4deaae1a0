#ifndef AR_TRANSPORT_H
#define AR_TRANSPORT_H

/* A rank's messages: receives posted ahead into a few slots, sends in a bounded
 * ring, bytes counted at the MPI call. */

#include <mpi.h>

#include "plan.h"

typedef struct {
    MPI_Comm comm;
    MPI_Request *request; /* [receives + sends] */
    void **buffer;        /* [receives + sends], of size bytes each: the largest hop */
    size_t size;
    size_t receives, sends;
    size_t posted, taken, sent; /* so far in this step; slot = count modulo size */
    int64_t sent_B, received_B, messages;
    bool contents; /* buffers hold data, not just their size */
} ar_transport;

/* Slots for the plan. */
ar_status ar_transport_open(ar_transport *transport, MPI_Comm comm, const ar_point *point,
                            const ar_layout *layout, const ar_plan *plan, bool contents,
                            ar_err *err);
void ar_transport_close(ar_transport *transport);

/* Forget the counts of the last step. */
void ar_transport_reset(ar_transport *transport);

void ar_transport_post(ar_transport *transport, const ar_message *message);

/* Wait for the receive posted longest ago; its data, valid until the slot is
 * posted again. */
const void *ar_transport_wait(ar_transport *transport);

/* The buffer of the next send; waits for the oldest one when the ring is full. */
void *ar_transport_reserve(ar_transport *transport);
void ar_transport_send(ar_transport *transport, const ar_message *message);

/* Let messages move; user is an ar_transport. */
void ar_transport_progress(void *user);

/* Wait for all sends. */
void ar_transport_finish(ar_transport *transport);

#endif
