#include "rowfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static ar_status path_of(const char *dir, const char *name, char *path, ar_err *err) {
    if (dir[0] == '\0') return ar_fail(err, AR_EUSAGE, "--output: the directory's name is empty");
    if (snprintf(path, PATH_SIZE, "%s/%s", dir, name) >= PATH_SIZE)
        return ar_fail(err, AR_EUSAGE, "%.200s...: the path is too long", dir);
    return AR_OK;
}

ar_status ar_directory_make(const char *dir, ar_err *err) {
    char path[PATH_SIZE];
    const ar_status status = path_of(dir, "", path, err); /* ends in a slash */
    if (status != AR_OK) return status;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return ar_fail(err, AR_ERUN, "%s: cannot make the directory: %s", path,
                           strerror(errno));
        *slash = '/';
    }
    return AR_OK;
}

/* Of a regular file: /dev/full has no end. */
static ar_status check_header(const char *path, const char *header, ar_err *err) {
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return AR_OK;
    FILE *in = fopen(path, "r");
    char *first = NULL;
    size_t room = 0;
    const ssize_t length = in ? getline(&first, &room, in) : -1;
    if (in) fclose(in);
    ar_status status = AR_OK;
    if (length > 0 && strcmp(first, header) != 0)
        status = ar_fail(err, AR_EINPUT,
                         "%s: has other columns than this version writes; move it away, or give "
                         "another directory with -o",
                         path);
    free(first);
    return status;
}

ar_status ar_rowfile_prepare(const char *dir, const char *name, const char *header, ar_err *err) {
    char path[PATH_SIZE];
    ar_status status = path_of(dir, name, path, err);
    if (status == AR_OK) status = ar_directory_make(dir, err);
    if (status != AR_OK) return status;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (fd < 0) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    close(fd);
    return check_header(path, header, err);
}

ar_status ar_rowfile_append(const char *dir, const char *name, const char *header, const char *row,
                            ar_err *err) {
    char path[PATH_SIZE];
    ar_status status = ar_rowfile_prepare(dir, name, header, err);
    if (status == AR_OK) status = path_of(dir, name, path, err);
    if (status != AR_OK) return status;
    FILE *out = fopen(path, "a");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    struct stat before = {0};
    if (fstat(fileno(out), &before) == 0 && before.st_size == 0) fputs(header, out);
    fputs(row, out);
    const bool written = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    const int why = errno;
    if (fclose(out) == 0 && written) return AR_OK;
    /* half a row would spoil those before and behind it */
    const bool whole = !S_ISREG(before.st_mode) || truncate(path, before.st_size) == 0;
    return ar_fail(err, AR_ERUN, "%s: the row could not be written: %s%s", path, strerror(why),
                   whole ? "" : "; the last line is incomplete");
}
