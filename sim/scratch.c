#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ar_status ar_scratch_open(ar_scratch *scratch, ar_err *err) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    const int length = snprintf(scratch->dir, sizeof scratch->dir, "%s/attnres-XXXXXX", base);
    if (length < 0 || length >= (int)sizeof scratch->dir - 64)
        return ar_fail(err, AR_ERUN, "TMPDIR = %s: the path is too long", base);
    if (mkdtemp(scratch->dir)) return AR_OK;
    return ar_fail(err, AR_ERUN, "%s: cannot make a directory for the run: %s", base,
                   strerror(errno));
}

void ar_scratch_close(ar_scratch *scratch) {
    char path[1024];
    DIR *dir = opendir(scratch->dir);
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        ar_scratch_path(scratch, entry->d_name, path, sizeof path);
        unlink(path);
    }
    closedir(dir);
    rmdir(scratch->dir);
}

void ar_scratch_path(const ar_scratch *scratch, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s", scratch->dir, name);
}
