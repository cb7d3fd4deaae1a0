#ifndef AR_PLACE_H
#define AR_PLACE_H

/* Where a point's ranks sit on its platform. */

#include "route.h"
#include "walk.h"

typedef struct {
    char xml[1024]; /* the platform file */
    ar_platform *platform;
    size_t *host;  /* [stages] index of each rank's host */
    ar_link *link; /* [chunks][2]: routes of the messages into a chunk, forward, backward */
} ar_place;

/* Find the platform, load it, place the ranks by --hosts or on every host_stride-th host, look up
 * the routes. Refused: fewer hosts than ranks, an unknown host, one host for two ranks. */
ar_status ar_place_open(const ar_point *point, const ar_layout *layout, ar_place *place,
                        ar_err *err);
void ar_place_close(ar_place *place);

/* One line per rank, as smpirun reads it. */
ar_status ar_place_write_hosts(const ar_place *place, int32_t ranks, const char *path, ar_err *err);

/* An ar_link_fn; user is an ar_place. */
ar_link ar_place_link(void *user, int32_t into, bool backward);

#endif
