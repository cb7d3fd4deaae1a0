#include "edits.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 64 };

static bool same(char a, char b) {
    return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_'));
}

/* One row of the table of distances between the beginnings of a and b. */
size_t ar_edits(const char *a, const char *b) {
    size_t row[NAME_MAX_LENGTH + 1];
    const size_t n = strlen(b);
    if (n > NAME_MAX_LENGTH || strlen(a) > NAME_MAX_LENGTH) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const size_t replace = diagonal + !same(a[i], b[j]);
            const size_t skip = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = skip < replace ? skip : replace;
        }
    }
    return row[n];
}
