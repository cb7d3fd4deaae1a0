#ifndef AR_LAUNCH_H
#define AR_LAUNCH_H

/* Start a program, wait for it, stop it when it takes too long. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

typedef struct {
    int exit_code; /* or -1: ended by a signal */
    bool timed_out;
    double wall_s;
    int64_t peak_B; /* largest resident size of any process of it */
} ar_launched;

/* Run argv with its output in log_path, in a process group of its own, which is
 * ended after limit_s, or when this process is interrupted (then AR_ERUN). */
ar_status ar_launch(char *const argv[], const char *log_path, double limit_s, ar_launched *launched,
                    ar_err *err);

/* Path of the rank program for "mpi" or "smpi": beside this program (build tree) or
 * in ../libexec/attnres (installed). */
ar_status ar_launch_find(const char *engine, char *path, size_t size, ar_err *err);

#endif
