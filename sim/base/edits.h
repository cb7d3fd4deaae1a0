#ifndef AR_EDITS_H
#define AR_EDITS_H

#include <stddef.h>

/* Insertions, deletions and replacements that make b of a; a hyphen and an underscore
 * are the same. SIZE_MAX where a name has more than 64 bytes. */
size_t ar_edits(const char *a, const char *b);

#endif
