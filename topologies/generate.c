#include "generate.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "data.h"

enum { HOSTS_MAX = 1 << 20 };
enum { NIC_PER_ACCELERATOR, NIC_PER_NODE };

/* ---- parameters ---- */

static const char *const nic_names[] = {"accelerator", "node", NULL};

#define COUNT(key, fallback, meta, help)                                                           \
    {                                                                                              \
#key, AR_FIELD_COUNT, AR_UNIT_NONE, offsetof(ar_preset, key), 1, HOSTS_MAX, NULL,          \
            fallback, meta, help                                                                   \
    }
#define QUANTITY(key, unit, member, low, high, fallback, help)                                     \
    {                                                                                              \
        key, AR_FIELD_QUANTITY, unit, offsetof(ar_preset, member), low, high, NULL, fallback,      \
            NULL, help                                                                             \
    }
#define BANDWIDTH(key, member, fallback, help)                                                     \
    QUANTITY(key, AR_UNIT_BPS, member, 1, 1e18, fallback, help)
#define LATENCY(key, member, fallback, help)                                                       \
    QUANTITY(key, AR_UNIT_S, member, 0, 3600, fallback, help)

static const ar_field fields[] = {
    {"name", AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(ar_preset, name), 0, 0, NULL, "", NULL,
     "what the platform is called in the XML's comment"},
    COUNT(sites, "1", "N", "data centres"),
    COUNT(nodes, "1", "N", "nodes of a site"),
    COUNT(accelerators, "8", "N", "accelerators of a node"),
    BANDWIDTH("link_bandwidth", link_Bps, "450 GB/s", "of an accelerator inside its node"),
    LATENCY("link_latency", link_latency_s, "2 us", "between two accelerators of a node"),
    {"nic", AR_FIELD_CHOICE, AR_UNIT_NONE, offsetof(ar_preset, nic), 0, 0, nic_names, "accelerator",
     NULL, "who has a NIC of its own"},
    BANDWIDTH("nic_bandwidth", nic_Bps, "400 Gb/s", "of a NIC"),
    LATENCY("nic_latency", nic_latency_s, "2 us", "between two NICs under one leaf switch"),
    COUNT(leaf, "32", "N", "nodes under a leaf switch"),
    QUANTITY("oversubscription", AR_UNIT_NONE, oversubscription, 1, 1000, "1",
             "NICs under a leaf to its uplinks"),
    LATENCY("spine_latency", spine_latency_s, "1 us", "added between two leaves"),
    BANDWIDTH("wan_bandwidth", wan_Bps, "100 Gb/s", "of a site"),
    LATENCY("wan_latency", wan_latency_s, "10 ms", "added between two sites, one way"),
};

const ar_fields ar_preset_fields = {fields, sizeof fields / sizeof *fields, "platform"};

ar_status ar_preset_load(const char *name_or_path, ar_preset *preset, ar_status bad, ar_err *err) {
    char path[4096];
    ar_preset read;
    memset(&read, 0, sizeof read);
    ar_fields_defaults(&ar_preset_fields, &read);
    ar_status status = ar_data_find("presets", name_or_path, ".ini", path, sizeof path, err, bad);
    if (status == AR_OK) status = ar_fields_read(&ar_preset_fields, path, &read, NULL, err);
    if (status == AR_OK) *preset = read;
    return status;
}

int64_t ar_preset_hosts(const ar_preset *preset) {
    return preset->sites * preset->nodes * preset->accelerators;
}

/* ---- XML ---- */

/* A comment may not hold "--". */
static void write_comment_text(FILE *out, const char *text) {
    for (; *text; text++) {
        fputc(*text, out);
        if (text[0] == '-' && text[1] == '-') fputc(' ', out);
    }
}

static void write_head(const ar_preset *p, FILE *out) {
    fprintf(out, "<?xml version='1.0'?>\n"
                 "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                 "<!-- Generated from a preset of these values; the sources of the figures are in\n"
                 "     the preset (topologies/presets). Compute is timed by the program, so the\n"
                 "     speed of a host means nothing.\n\n[platform]\n");
    for (size_t i = 0; i < ar_preset_fields.count; i++) {
        char text[AR_TEXT_MAX];
        ar_field_format(&fields[i], p, text, sizeof text);
        if (!*text) continue;
        fprintf(out, "%s = ", fields[i].name);
        write_comment_text(out, text);
        fputc('\n', out);
    }
    fputs("-->\n<platform version=\"4.1\">\n", out);
}

/* A link of a child: half of a pair's latency. */
static void write_link(FILE *out, const char *id, int64_t n, double Bps, double pair_latency_s) {
    fprintf(out,
            "<link id=\"%s%" PRId64 "\" bandwidth=\"%.15gBps\" latency=\"%.15gs\" "
            "sharing_policy=\"SPLITDUPLEX\"/>\n",
            id, n, Bps, pair_latency_s / 2);
}

/* Hosts node<first>.0 .. with one link each to a switch: the zone <id>, gateway <id>-gate. */
static void write_cluster(FILE *out, const char *id, int64_t n, const char *prefix, int64_t first,
                          int64_t count, const char *suffix, double Bps, double pair_latency_s) {
    fprintf(out,
            "<cluster id=\"%s%" PRId64 "\" prefix=\"%s\" radical=\"%" PRId64 "-%" PRId64
            "\" suffix=\"%s\" speed=\"1Gf\" bw=\"%.15gBps\" lat=\"%.15gs\" "
            "sharing_policy=\"SPLITDUPLEX\" router_id=\"%s%" PRId64 "-gate\"/>\n",
            id, n, prefix, first, first + count - 1, suffix, Bps, pair_latency_s / 2, id, n);
}

/* A node whose accelerators have both a link inside and a NIC: every pair has its
 * route over the links, and every accelerator one over its NIC to the gateway. */
static void write_node(const ar_preset *p, FILE *out, int64_t node) {
    fprintf(out, "<zone id=\"node%" PRId64 "\" routing=\"Full\">\n", node);
    for (int64_t a = 0; a < p->accelerators; a++)
        fprintf(out, "<host id=\"node%" PRId64 ".%" PRId64 "\" speed=\"1Gf\"/>\n", node, a);
    fprintf(out, "<router id=\"node%" PRId64 "-gate\"/>\n", node);
    for (int64_t a = 0; a < p->accelerators; a++) {
        char id[64];
        snprintf(id, sizeof id, "link%" PRId64 ".", node);
        write_link(out, id, a, p->link_Bps, p->link_latency_s);
        snprintf(id, sizeof id, "nic%" PRId64 ".", node);
        write_link(out, id, a, p->nic_Bps, p->nic_latency_s);
    }
    for (int64_t a = 0; a < p->accelerators; a++) {
        for (int64_t b = a + 1; b < p->accelerators; b++)
            fprintf(out,
                    "<route src=\"node%" PRId64 ".%" PRId64 "\" dst=\"node%" PRId64 ".%" PRId64
                    "\"><link_ctn id=\"link%" PRId64 ".%" PRId64
                    "\" direction=\"UP\"/><link_ctn id=\"link%" PRId64 ".%" PRId64
                    "\" direction=\"DOWN\"/></route>\n",
                    node, a, node, b, node, a, node, b);
        fprintf(out,
                "<route src=\"node%" PRId64 ".%" PRId64 "\" dst=\"node%" PRId64
                "-gate\"><link_ctn id=\"nic%" PRId64 ".%" PRId64 "\" direction=\"UP\"/></route>\n",
                node, a, node, node, a);
    }
    fputs("</zone>\n", out);
}

/* ---- levels ---- */

/* A node: a zone or cluster node<n> with the router node<n>-gate. */
static void write_any_node(const ar_preset *p, FILE *out, int64_t node) {
    char prefix[64];
    if (p->nic == NIC_PER_ACCELERATOR && p->nodes * p->sites > 1) {
        write_node(p, out, node);
        return;
    }
    snprintf(prefix, sizeof prefix, "node%" PRId64 ".", node);
    write_cluster(out, "node", node, prefix, 0, p->accelerators, "", p->link_Bps,
                  p->link_latency_s);
}

/* What stands below a switch: children first .. first + count - 1, each with its
 * zone, its edge up to the switch, and the figures of that edge. */
typedef struct {
    const char *child, *edge;
    int64_t first, count;
    double Bps, pair_latency_s;
} below;

/* The switch of zone <id><n>, the children's edges and their routes up. */
static void write_switch(FILE *out, const char *id, int64_t n, const below *b) {
    fprintf(out,
            "<zone id=\"%s%" PRId64 "-switch\" routing=\"Full\"><router id=\"%s%" PRId64
            "-gate\"/></zone>\n",
            id, n, id, n);
    for (int64_t i = b->first; i < b->first + b->count; i++)
        write_link(out, b->edge, i, b->Bps, b->pair_latency_s);
    for (int64_t i = b->first; i < b->first + b->count; i++)
        fprintf(out,
                "<zoneRoute src=\"%s%" PRId64 "\" dst=\"%s%" PRId64 "-switch\" gw_src=\"%s%" PRId64
                "-gate\" gw_dst=\"%s%" PRId64 "-gate\"><link_ctn id=\"%s%" PRId64
                "\" direction=\"UP\"/></zoneRoute>\n",
                b->child, i, id, n, b->child, i, id, n, b->edge, i);
}

static void open_zone(FILE *out, const char *id, int64_t n) {
    fprintf(out, "<zone id=\"%s%" PRId64 "\" routing=\"Floyd\">\n", id, n);
}

/* The bandwidth of a node's NICs together. */
static double node_Bps(const ar_preset *p) {
    return p->nic_Bps * (p->nic == NIC_PER_NODE ? 1.0 : (double)p->accelerators);
}

/* Nodes first .. first + count - 1 under leaf switch n. */
static void write_leaf(const ar_preset *p, FILE *out, int64_t n, int64_t first, int64_t count) {
    if (p->accelerators == 1) { /* the node is its NIC */
        write_cluster(out, "leaf", n, "node", first, count, ".0", p->nic_Bps, p->nic_latency_s);
        return;
    }
    /* Where each accelerator has its NIC, that has the latency; the node's edge is
     * there because a route may not be empty, and holds all its NICs at once. */
    const double latency_s = p->nic == NIC_PER_NODE ? p->nic_latency_s : 0;
    const below nodes = {"node", "port", first, count, node_Bps(p), latency_s};
    open_zone(out, "leaf", n);
    for (int64_t i = first; i < first + count; i++)
        write_any_node(p, out, i);
    write_switch(out, "leaf", n, &nodes);
    fputs("</zone>\n", out);
}

static int64_t site_leaves(const ar_preset *p) {
    return (p->nodes + p->leaf - 1) / p->leaf;
}

/* Returns what its zone is called, before the number: a site of one leaf is that leaf. */
static const char *write_site(const ar_preset *p, FILE *out, int64_t n) {
    const int64_t leaves = site_leaves(p);
    const double uplink_Bps = node_Bps(p) * (double)p->leaf / p->oversubscription;
    const below below_spine = {"leaf", "uplink",   n * leaves,
                               leaves, uplink_Bps, p->spine_latency_s};
    if (leaves > 1) open_zone(out, "site", n);
    for (int64_t i = 0; i < leaves; i++) {
        const int64_t first = i * p->leaf, rest = p->nodes - first;
        write_leaf(p, out, n * leaves + i, n * p->nodes + first, rest < p->leaf ? rest : p->leaf);
    }
    if (leaves == 1) return "leaf";
    write_switch(out, "site", n, &below_spine);
    fputs("</zone>\n", out);
    return "site";
}

static void write_world(const ar_preset *p, FILE *out) {
    below sites = {NULL, "wan", 0, p->sites, p->wan_Bps, p->wan_latency_s};
    open_zone(out, "world", 0);
    for (int64_t i = 0; i < p->sites; i++)
        sites.child = write_site(p, out, i);
    write_switch(out, "world", 0, &sites);
    fputs("</zone>\n", out);
}

/* One node, and one site, need no switch above them. */
static void write_tree(const ar_preset *p, FILE *out) {
    if (p->sites > 1)
        write_world(p, out);
    else if (p->nodes > 1)
        write_site(p, out, 0);
    else
        write_any_node(p, out, 0);
}

ar_status ar_preset_write(const ar_preset *preset, FILE *out, ar_err *err) {
    const double hosts =
        (double)preset->sites * (double)preset->nodes * (double)preset->accelerators;
    if (hosts > HOSTS_MAX)
        return ar_fail(err, AR_EINPUT,
                       "platform: sites x nodes x accelerators = %.0f hosts; legal: up to %d",
                       hosts, HOSTS_MAX);
    write_head(preset, out);
    fputs("<zone id=\"platform\" routing=\"Full\">\n", out);
    write_tree(preset, out);
    fputs("</zone>\n</platform>\n", out);
    if (fflush(out) != 0 || ferror(out))
        return ar_fail(err, AR_ERUN, "platform: writing the XML failed");
    return AR_OK;
}
