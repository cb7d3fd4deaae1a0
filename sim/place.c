#include "place.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

static ar_status place_by_stride(const ar_point *point, ar_place *place, ar_err *err) {
    const size_t hosts = ar_platform_hosts(place->platform);
    const size_t stride = (size_t)point->host_stride, ranks = (size_t)point->stages;
    const size_t needed = (ranks - 1) * stride + 1;
    if (needed > hosts)
        return ar_fail(err, point->bad,
                       "platform = %s has %zu hosts; %zu ranks on every %zu%s host need %zu",
                       point->platform, hosts, ranks, stride,
                       stride == 1   ? "st"
                       : stride == 2 ? "nd"
                       : stride == 3 ? "rd"
                                     : "th",
                       needed);
    for (size_t r = 0; r < ranks; r++)
        place->host[r] = r * stride;
    return AR_OK;
}

static ar_status place_by_file(const ar_point *point, ar_place *place, ar_err *err) {
    FILE *in = fopen(point->hosts, "r");
    if (!in)
        return ar_fail(err, point->bad, "hosts = %s: cannot read: %s", point->hosts,
                       strerror(errno));
    char line[512];
    int64_t ranks = 0;
    int number = 0;
    ar_status status = AR_OK;
    while (status == AR_OK && ranks < point->stages && fgets(line, sizeof line, in)) {
        number++;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#') continue;
        const size_t host = ar_platform_find(place->platform, line);
        if (host == ar_platform_hosts(place->platform))
            status = ar_fail(
                err, AR_EINPUT, "%s:%d: '%s' is no host of platform %s (its first is '%s')",
                point->hosts, number, line, point->platform, ar_platform_host(place->platform, 0));
        for (int64_t r = 0; r < ranks && status == AR_OK; r++)
            if (place->host[r] == host)
                status =
                    ar_fail(err, AR_EINPUT, "%s:%d: host '%s' is given to two ranks, %lld and %lld",
                            point->hosts, number, line, (long long)r, (long long)ranks);
        place->host[ranks++] = host;
    }
    fclose(in);
    if (status == AR_OK && ranks < point->stages)
        status = ar_fail(err, AR_EINPUT, "%s: names %lld hosts; the %lld ranks need one each",
                         point->hosts, (long long)ranks, (long long)point->stages);
    return status;
}

static ar_status find_links(const ar_layout *layout, ar_place *place, ar_err *err) {
    for (int32_t c = 0; c < layout->chunks; c++) {
        for (int backward = 0; backward < 2; backward++) {
            const int32_t other = backward ? c + 1 : c - 1;
            ar_link *link = &place->link[2 * c + backward];
            *link = (ar_link){0, INFINITY};
            if (other < 0 || other >= layout->chunks) continue;
            const size_t from = place->host[layout->chunk[other].rank];
            const size_t to = place->host[layout->chunk[c].rank];
            if (from == to) continue;
            const ar_status status = ar_platform_route(place->platform, from, to, &link->latency_s,
                                                       &link->bandwidth_Bps, err);
            if (status != AR_OK) return status;
        }
    }
    return AR_OK;
}

ar_status ar_place_open(const ar_point *point, const ar_layout *layout, ar_place *place,
                        ar_err *err) {
    memset(place, 0, sizeof *place);
    ar_status status = ar_data_find("platforms", point->platform, ".xml", place->xml,
                                    sizeof place->xml, err, point->bad);
    if (status == AR_OK) status = ar_platform_open(place->xml, &place->platform, err);
    if (status != AR_OK) return status;
    place->host = calloc((size_t)point->stages, sizeof *place->host);
    place->link = calloc(2 * (size_t)layout->chunks, sizeof *place->link);
    if (!place->host || !place->link)
        status = ar_fail(err, AR_ERUN, "out of memory");
    else
        status =
            point->hosts[0] ? place_by_file(point, place, err) : place_by_stride(point, place, err);
    if (status == AR_OK) status = find_links(layout, place, err);
    if (status != AR_OK) ar_place_close(place);
    return status;
}

void ar_place_close(ar_place *place) {
    ar_platform_close(place->platform);
    free(place->host);
    free(place->link);
    memset(place, 0, sizeof *place);
}

ar_status ar_place_write_hosts(const ar_place *place, int32_t ranks, const char *path,
                               ar_err *err) {
    FILE *out = fopen(path, "w");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    for (int32_t r = 0; r < ranks; r++)
        fprintf(out, "%s\n", ar_platform_host(place->platform, place->host[r]));
    const bool written = !ferror(out);
    if (fclose(out) != 0 || !written)
        return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    return AR_OK;
}

ar_link ar_place_link(void *user, int32_t into, bool backward) {
    const ar_place *place = user;
    return place->link[2 * into + backward];
}
