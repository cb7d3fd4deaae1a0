#ifndef AR_SCRATCH_H
#define AR_SCRATCH_H

#include <stddef.h>

#include "err.h"

/* A directory for the files of one run, under $TMPDIR or /tmp. */
typedef struct {
    char dir[512];
} ar_scratch;

ar_status ar_scratch_open(ar_scratch *scratch, ar_err *err);

/* Remove the directory and the files in it. */
void ar_scratch_close(ar_scratch *scratch);

/* path[size] := the directory's file of that name. */
void ar_scratch_path(const ar_scratch *scratch, const char *name, char *path, size_t size);

#endif
