#ifndef AR_DRAM_H
#define AR_DRAM_H

#include <stddef.h>

#include "err.h"

/* Bytes that memory moved while run(user) ran once, from the candidates of
 * topologies/counters.txt for this vendor that count DRAM traffic. note[size] says which
 * counters these were. AR_ERUN: none works; the message has each candidate with the
 * reason, and what would be needed. */
ar_status ar_dram_measure(const char *vendor, void (*run)(void *), void *user, double *bytes,
                          char *note, size_t size, ar_err *err);

#endif
