#ifndef AR_PEAK_H
#define AR_PEAK_H

#include <stddef.h>

/* fp32 flop/s of independent multiply-adds in registers on `threads` threads, with the
 * widest vectors of this processor that the build knows (x86-64: AVX-512, AVX2 with FMA,
 * else SSE2; elsewhere the compiler's choice): best of five runs of about 10 ms. */
double ar_peak_flops(size_t threads);

#endif
