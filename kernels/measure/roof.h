#ifndef AR_ROOF_H
#define AR_ROOF_H

/* The memory roof: STREAM-type kernels on arrays beyond the cache, as many bytes a second
 * as this machine moves for a given mix of reads and writes. Source: McCalpin, STREAM;
 * bytes are counted as STREAM does: what the loop loads and stores, without the line that
 * an ordinary store reads first. */

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "pass.h"

typedef struct {
    const char *name; /* "triad" */
    int reads, writes;
    bool streams; /* has a variant with non-temporal stores */
} ar_roof_about;
extern const ar_roof_about ar_roof_table[AR_ROOF_KERNELS];

/* Does this build have non-temporal stores? (x86-64) */
bool ar_roof_has_stream(void);

/* Run n elements of a kernel on `threads` threads, each on its own contiguous part;
 * stream: with non-temporal stores, where the kernel has that variant. Arrays are 64-byte
 * aligned, n a multiple of 16. Returns the sum, else 0. */
double ar_roof_run(ar_roof_kernel kernel, bool stream, size_t threads, size_t n, const float *a,
                   const float *b, float *c);

/* The arrays, and the kernel that is the roof of one mix. */
typedef struct {
    size_t n, threads;
    float *a, *b, *c; /* owned */
    ar_roof_kernel kernel;
    bool stream;
    double bytes;                   /* one run of it moves */
    double Bps[AR_ROOF_KERNELS][2]; /* [stream]: best of three; 0: not run */
    double sum;                     /* keeps the read-only kernel alive */
} ar_roof;

/* Three arrays of set_B bytes together, touched by the threads that use them. */
ar_status ar_roof_open(ar_roof *roof, size_t threads, double set_B, ar_err *err);
void ar_roof_close(ar_roof *roof);

/* Choose the roof for a mix: run every kernel whose share of writes is nearest to
 * writes / (reads + writes), three times with each kind of store; the fastest wins. */
void ar_roof_choose(ar_roof *roof, double reads, double writes);

/* One run of the chosen kernel. */
void ar_roof_repeat(ar_roof *roof);

#endif
