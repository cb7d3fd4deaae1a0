#ifndef AR_ROUTE_ENGINE_H
#define AR_ROUTE_ENGINE_H

/* The child's side of route.h: the only code that enters SimGrid. */

#include <stdbool.h>
#include <stdint.h>

#include "hosts.h"

/* First message of the child, followed by `bytes` of text: the hosts' names, each
 * with its end, or, if not ok, why the platform is refused. */
typedef struct {
    uint64_t ok, bytes;
} ar_route_hello;

/* A question, by index of the hosts as the hello gave them, and its answer. */
typedef struct {
    uint64_t from, to;
} ar_route_ask;

typedef struct {
    double latency_s, bandwidth_Bps;
} ar_route_answer;

/* Was this built with SimGrid? */
bool ar_route_engine_built(void);

/* Load the file, say hello on socket fd, answer until it closes. order: the hosts
 * in file order. SimGrid may end the process at any point. */
void ar_route_engine_serve(int fd, const char *path, const ar_hosts *order);

#endif
