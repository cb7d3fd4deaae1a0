#ifndef AR_DATA_H
#define AR_DATA_H

/* Where the data files live. */

#include <stddef.h>

#include "err.h"

/* Find the file of a name. kind: "devices", "models", "platforms", "presets",
 * "studies" or "topologies"; suffix: ".ini", ".xml", ".txt".
 *
 * A name with a '/' in it, or that ends in suffix, is a path and is taken as it is.
 * Any other is looked up as <folder>/<name><suffix>, in this order:
 *   $ATTNRES_DATA/<kind>          what the user set
 *   AR_SOURCEDIR/<source folder>  the files of the build's own source
 *   AR_DATADIR/<kind>             the installed files
 * (both as the build set them.)
 *
 * path[size] gets the file, which is a regular file and was readable just now. On
 * failure the status is `bad`; the message of an unknown name lists the known ones,
 * sorted, the nearest first. */
ar_status ar_data_find(const char *kind, const char *name, const char *suffix, char *path,
                       size_t size, ar_err *err, ar_status bad);

#endif
