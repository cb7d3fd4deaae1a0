#ifndef AR_ARGUMENTS_H
#define AR_ARGUMENTS_H

/* Options of a command: its own table and, where it asks a point, the point's. */

#include "point.h"

typedef struct {
    const ar_fields *own; /* may be NULL */
    void *object;         /* what own describes */
    ar_point *point;      /* may be NULL */
} ar_arguments;

/* Read "--name value", "--name=value", "-o DIR" (for --output) and "-h" from argv[1..].
 * Up to `words` arguments that are no options are left at the front of argv[1..],
 * NULL behind them; more are refused. *help is set by -h or --help. Nothing is
 * allocated; messages name the option. */
ar_status ar_arguments_read(const ar_arguments *arguments, int argc, char **argv, int words,
                            int *help, ar_err *err);

/* Set the keys of a file's section [point]; an option that was given already wins. */
ar_status ar_point_read(ar_point *point, const char *path, ar_err *err);

/* Write the point so that ar_point_read reads it. */
ar_status ar_point_write(const ar_point *point, const char *path, ar_err *err);

#endif
