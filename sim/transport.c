#include "transport.h"

#include <stdlib.h>

#include "engine.h"

ar_status ar_transport_open(ar_transport *transport, MPI_Comm comm, const ar_point *point,
                            const ar_layout *layout, const ar_plan *plan, bool contents,
                            ar_err *err) {
    *transport = (ar_transport){.comm = comm,
                                .receives = (size_t)plan->receives,
                                .sends = (size_t)plan->send_ring,
                                .contents = contents};
    const size_t slots = transport->receives + transport->sends;
    const size_t size = (size_t)ar_routing_bytes(
        point, ar_routing_total(point, layout, (ar_cache)point->cache).peak_vectors);
    transport->size = size;
    transport->request = malloc(slots * sizeof *transport->request);
    transport->buffer = calloc(slots, sizeof *transport->buffer);
    bool enough = transport->request && transport->buffer;
    for (size_t i = 0; enough && i < slots; i++) {
        transport->request[i] = MPI_REQUEST_NULL;
        if (contents)
            transport->buffer[i] = malloc(size ? size : 1);
        else if (i <= transport->receives)
            transport->buffer[i] = ar_engine_payload(size);
        else
            transport->buffer[i] = transport->buffer[transport->receives]; /* sends share one */
        enough = transport->buffer[i] != NULL;
    }
    if (enough) return AR_OK;
    ar_transport_close(transport);
    return ar_fail(err, AR_ERUN, "out of memory for %zu message buffers of %zu bytes", slots, size);
}

void ar_transport_close(ar_transport *transport) {
    const size_t slots = transport->receives + transport->sends;
    for (size_t i = 0; transport->buffer && i < slots; i++) {
        if (transport->contents)
            free(transport->buffer[i]);
        else if (i <= transport->receives && transport->buffer[i])
            ar_engine_payload_free(transport->buffer[i], transport->size);
    }
    free(transport->buffer);
    free(transport->request);
    transport->buffer = NULL;
    transport->request = NULL;
}

void ar_transport_reset(ar_transport *transport) {
    transport->posted = transport->taken = transport->sent = 0;
    transport->sent_B = transport->received_B = transport->messages = 0;
}

void ar_transport_post(ar_transport *transport, const ar_message *message) {
    const size_t slot = transport->posted++ % transport->receives;
    MPI_Irecv(transport->buffer[slot], (int)message->bytes, MPI_BYTE, message->peer, message->tag,
              transport->comm, &transport->request[slot]);
}

const void *ar_transport_wait(ar_transport *transport) {
    const size_t slot = transport->taken++ % transport->receives;
    MPI_Status status;
    int count = 0;
    MPI_Wait(&transport->request[slot], &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    transport->received_B += count;
    return transport->buffer[slot];
}

void *ar_transport_reserve(ar_transport *transport) {
    const size_t slot = transport->receives + transport->sent % transport->sends;
    if (transport->sent >= transport->sends) MPI_Wait(&transport->request[slot], MPI_STATUS_IGNORE);
    return transport->buffer[slot];
}

void ar_transport_send(ar_transport *transport, const ar_message *message) {
    const size_t slot = transport->receives + transport->sent++ % transport->sends;
    MPI_Isend(transport->buffer[slot], (int)message->bytes, MPI_BYTE, message->peer, message->tag,
              transport->comm, &transport->request[slot]);
    transport->sent_B += message->bytes;
    transport->messages++;
}

void ar_transport_progress(void *user) {
    ar_engine_progress(((const ar_transport *)user)->comm);
}

void ar_transport_finish(ar_transport *transport) {
    MPI_Waitall((int)transport->sends, transport->request + transport->receives,
                MPI_STATUSES_IGNORE);
}
