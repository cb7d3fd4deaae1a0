#ifndef AR_HOSTS_H
#define AR_HOSTS_H

/* Names of hosts, in order. SimGrid keeps its hosts sorted by name, so that their
 * order in a platform file has to be read from the file. */

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

typedef struct {
    const char **name; /* [count], into text */
    size_t count;
    char *text; /* the names, each with its end; owned */
    size_t size, room;
} ar_hosts;

/* Append a name. False: out of memory. name[] is set by ar_hosts_index only. */
bool ar_hosts_add(ar_hosts *hosts, const char *name);

/* Set name[] and count from text. False: out of memory. */
bool ar_hosts_index(ar_hosts *hosts);

void ar_hosts_free(ar_hosts *hosts);

/* The hosts that a SimGrid XML file declares, in file order: <host>, <peer>, and
 * the members of <cluster> and <cabinet> (prefix, radical, suffix). It only scans:
 * whether the file is a platform is for SimGrid to say. Refused: a file that cannot
 * be read, a tag that does not end, more than 1,048,576 hosts, a radical that is no
 * list of ranges. *hosts is set on success only; then the caller frees it. */
ar_status ar_hosts_scan(const char *path, ar_hosts *hosts, ar_err *err);

#endif
