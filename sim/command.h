#ifndef AR_COMMAND_H
#define AR_COMMAND_H

/* The command lines that start the rank program. */

#include "place.h"
#include "scratch.h"

typedef struct {
    char **argv;                /* NULL-terminated, owned */
    char settings[AR_TEXT_MAX]; /* of the engine, for the result */
} ar_command;

/* The scratch directory holds point.ini and gets hosts; the rank program writes
 * result.ini there, and DIR/timeline where that is not "". */
ar_status ar_command_sim(const ar_point *point, const ar_place *place, const ar_scratch *scratch,
                         const char *dir, const char *timeline, ar_command *command, ar_err *err);
ar_status ar_command_run(const ar_point *point, const ar_scratch *scratch, const char *dir,
                         const char *timeline, ar_command *command, ar_err *err);
void ar_command_free(ar_command *command);

#endif
