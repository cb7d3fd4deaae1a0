#ifndef AR_PAGES_H
#define AR_PAGES_H

/* Memory for big buffers, in huge pages where the system gives them to who asks: with
 * 4 KiB pages a walk through several vectors waits for address translation. */

#include <stddef.h>

/* size bytes, aligned to a huge page (2 MiB) or, below that, to a cache line; content
 * undefined, untouched: pages go to the NUMA node of the thread that writes them first.
 * The caller frees it with free(). NULL: no memory. */
void *ar_pages_alloc(size_t size);

#endif
