/* x += v, the standard residual and the end of a block's chunk. */

#include "../pass.h"
#include "tile.h"
#include "weigh.h"

void AR_SIMD(add)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_add *const a = args;
    (void)scratch;
    /* tokens lie behind one another: one long row */
    add_row((last - first) * a->width, (element *)a->x + first * a->width,
            (const element *)a->v + first * a->width);
}
