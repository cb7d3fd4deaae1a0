#define _DEFAULT_SOURCE /* madvise */

#include "pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *ar_pages_alloc(size_t size) {
    const size_t huge = (size_t)2 << 20, align = size < huge ? 64 : huge;
    if (size > SIZE_MAX - align) return NULL;
    const size_t whole = (size + align - 1) / align * align;
    void *const p = aligned_alloc(align, whole ? whole : align);
#ifdef MADV_HUGEPAGE
    if (p && align == huge) (void)madvise(p, whole, MADV_HUGEPAGE); /* a hint */
#endif
    return p;
}
