#include "route_engine.h"

#ifdef HAVE_SIMGRID

#include <math.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool ar_route_engine_built(void) {
    return true;
}

static void say_hello(int fd, bool ok, const char *text, size_t bytes) {
    const ar_route_hello hello = {ok, bytes};
    send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
    for (size_t sent = 0; sent < bytes;) {
        const ssize_t n = send(fd, text + sent, bytes - sent, MSG_NOSIGNAL);
        if (n <= 0) return;
        sent += (size_t)n;
    }
}

/* Is there a link that cannot carry anything? Then say so. */
static bool refuse_links(int fd) {
    char why[512];
    sg_link_t *links = sg_link_list();
    for (size_t i = 0; i < sg_link_count(); i++) {
        const double Bps = sg_link_get_bandwidth(links[i]), s = sg_link_get_latency(links[i]);
        if (Bps > 0 && isfinite(Bps) && s >= 0 && isfinite(s)) continue;
        snprintf(why, sizeof why, "link '%.200s' has bandwidth %g B/s and latency %g s; legal: %s",
                 sg_link_get_name(links[i]), Bps, s, "bandwidth > 0, latency >= 0, both finite");
        say_hello(fd, false, why, strlen(why));
        return true;
    }
    return false;
}

/* Find the hosts of a list. False: it is not all the hosts that there are. */
static bool find_hosts(const ar_hosts *list, sg_host_t *host) {
    if (list->count != sg_host_count()) return false;
    for (size_t i = 0; i < list->count; i++)
        if (!(host[i] = sg_host_by_name(list->name[i]))) return false;
    return true;
}

static ar_hosts engine_order(void) {
    ar_hosts all = {0};
    sg_host_t *host = sg_host_list();
    for (size_t i = 0; i < sg_host_count(); i++)
        if (!ar_hosts_add(&all, sg_host_get_name(host[i]))) break;
    if (!ar_hosts_index(&all)) abort();
    return all;
}

void ar_route_engine_serve(int fd, const char *path, const ar_hosts *order) {
    char name[] = "attnres";
    char *argv[] = {name, NULL};
    int argc = 1;
    simgrid_init(&argc, argv);
    simgrid_load_platform(path);
    if (refuse_links(fd)) return;
    simgrid_run(); /* of nothing: it makes the routing tables */

    ar_hosts all = {0};
    sg_host_t *host = calloc(sg_host_count() + 1, sizeof *host);
    if (!host) return;
    if (!find_hosts(order, host)) {
        all = engine_order();
        order = &all;
        if (!find_hosts(order, host)) return;
    }
    say_hello(fd, true, order->text, order->size);
    ar_route_ask ask;
    while (recv(fd, &ask, sizeof ask, MSG_WAITALL) == (ssize_t)sizeof ask) {
        const ar_route_answer answer = {sg_host_get_route_latency(host[ask.from], host[ask.to]),
                                        sg_host_get_route_bandwidth(host[ask.from], host[ask.to])};
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0) break;
    }
    free(host);
    ar_hosts_free(&all);
}

#else

bool ar_route_engine_built(void) {
    return false;
}

void ar_route_engine_serve(int fd, const char *path, const ar_hosts *order) {
    (void)fd;
    (void)path;
    (void)order;
}

#endif
