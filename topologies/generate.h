#ifndef AR_GENERATE_H
#define AR_GENERATE_H

/* Platforms from a few parameters, as SimGrid XML (3.32 and 4.0).
 *
 * A platform is a tree: accelerators in a node, nodes under a leaf switch, leaves
 * under spines, sites over a WAN. Every edge is full duplex. Where there is
 * one node, one leaf or one site, the switch above it is left out.
 *
 *   level         edge of a child up to its switch   latency of a pair (both edges)
 *   accelerator   link_bandwidth                     link_latency
 *   node          nic_bandwidth                      nic_latency
 *   leaf          the NICs under it together,        spine_latency, added to nic_latency
 *                 divided by oversubscription
 *   site          wan_bandwidth                      wan_latency, added to the above
 *
 * nic = accelerator: each accelerator has a NIC of its own, and what leaves the node
 * goes through that only. nic = node: one NIC for the node, reached over the
 * accelerator's link, so link_latency adds to nic_latency.
 *
 * Hosts are called node<n>.<accelerator>, in file order node by node, site by site:
 * host i is node<i / accelerators>.<i % accelerators>.
 *
 * Two shapes that are no tree, torus-3d and free, are files in topologies/platforms. */

#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "field.h"

typedef struct {
    char name[AR_TEXT_MAX];
    int64_t sites, nodes, accelerators; /* nodes of a site, accelerators of a node */
    double link_Bps, link_latency_s;
    int nic; /* 0: one NIC per accelerator, 1: one per node */
    double nic_Bps, nic_latency_s;
    int64_t leaf; /* nodes under a leaf switch; the last leaf may have fewer */
    double oversubscription, spine_latency_s;
    double wan_Bps, wan_latency_s;
} ar_preset;

/* The keys of section [platform]; options of `topo --generate` too. */
extern const ar_fields ar_preset_fields;

/* Load a preset by name ("ndr-fat-tree") or path; bad: status of a name that is not
 * known. *preset is set on success only. */
ar_status ar_preset_load(const char *name_or_path, ar_preset *preset, ar_status bad, ar_err *err);

/* Number of hosts. */
int64_t ar_preset_hosts(const ar_preset *preset);

/* Write the XML. Refused: more than 1,048,576 hosts; a failed write. */
ar_status ar_preset_write(const ar_preset *preset, FILE *out, ar_err *err);

#endif
