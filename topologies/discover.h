#ifndef AR_DISCOVER_H
#define AR_DISCOVER_H

/* What this machine is: cores, caches, memory, devices (hwloc), counters (PAPI). */

#include <stdio.h>

#include "err.h"

/* Print the machine to out, one "key: value" line each. With HWLOC_SYNTHETIC
 * ("pack:2 core:4 pu:2") or HWLOC_XMLFILE (an lstopo capture) in the environment it
 * prints that machine, says so, and leaves out what only this system knows: kernel,
 * hypervisor, counters. Refused: hwloc fails to load (AR_ERUN), output fails. */
ar_status ar_topo_print(FILE *out, ar_err *err);

#endif
