#ifndef AR_CACHESIM_H
#define AR_CACHESIM_H

/* Memory traffic of a subject by valgrind's cache simulator, for machines whose counters
 * nobody may read. The program starts itself under valgrind with the hidden command
 * AR_CACHESIM_COMMAND; there one walk through the depth is the region, its dirty lines are
 * flushed inside it, and an empty region with the same flush is subtracted. */

#include "err.h"
#include "subject.h"

#define AR_CACHESIM_COMMAND "cachesim-subject"

/* The case that is simulated for c: one thread, and just as many tokens that a vector of
 * the micro-batch fills the simulated last-level cache twice (at most c's own). */
ar_case ar_cachesim_case(const ar_case *c);

/* Has c enough tokens to leave the simulated cache? AR_EUSAGE if not. */
ar_status ar_cachesim_check(const ar_case *c, ar_err *err);

/* The command line that simulates c: self is this program, dump the path of callgrind's
 * files: it leaves dump.1, an empty region, and dump.2, one walk and the same flush. The
 * traffic of the walk is the difference of the two. argv ends with NULL. */
typedef struct {
    char *argv[29];
    char text[29][512];
} ar_cachesim_command;
void ar_cachesim_command_make(const ar_case *c, const char *self, const char *dump,
                              ar_cachesim_command *command);

/* The other side, under valgrind: argv[1..] as ar_cachesim_measure writes them. */
ar_status ar_cachesim_subject(int argc, char **argv, ar_err *err);

/* Bytes between the last-level cache and memory from one of callgrind's dump files.
 * moved: what is loaded and written back. allocated: what a store that misses reads first,
 * only to overwrite it; non-temporal stores, which valgrind takes for ordinary ones, do not. */
typedef struct {
    double moved_B, allocated_B;
} ar_cachesim_traffic;
ar_status ar_cachesim_read(const char *path, ar_cachesim_traffic *traffic, ar_err *err);

#endif
