#include "bench_traffic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"
#include "scratch.h"

/* The last line of a program's output. */
static void last_line(const char *path, char *text, size_t size) {
    char line[256];
    FILE *in = fopen(path, "r");
    snprintf(text, size, "no output");
    while (in && fgets(line, sizeof line, in))
        if (strcspn(line, "\n") > 0) snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
    if (in) fclose(in);
}

static ar_status simulate(const ar_case *c, const ar_scratch *scratch, double limit_s,
                          ar_err *err) {
    char self[400], dump[500], log[600], line[256];
    ar_cachesim_command command;
    ar_launched launched;
    ar_err why = {{0}};
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return ar_fail(err, AR_ERUN, "/proc/self/exe: %s", strerror(errno));
    self[length] = '\0';
    ar_scratch_path(scratch, "dump", dump, sizeof dump);
    ar_scratch_path(scratch, "log", log, sizeof log);
    ar_cachesim_command_make(c, self, dump, &command);
    const ar_status status = ar_launch(command.argv, log, limit_s, &launched, &why);
    if (status != AR_OK)
        return ar_fail(err, status,
                       "%.300s; the cache simulator needs valgrind (Debian: apt install valgrind; "
                       "Fedora: dnf install valgrind; Spack: spack install valgrind)",
                       why.text);
    last_line(log, line, sizeof line);
    if (launched.timed_out)
        return ar_fail(err, AR_ERUN, "valgrind took more than %g s; give fewer layers", limit_s);
    if (launched.exit_code != 0)
        return ar_fail(err, AR_ERUN, "valgrind ended with code %d: %s", launched.exit_code, line);
    return AR_OK;
}

ar_status ar_bench_cachesim(const ar_case *c, double limit_s, ar_cachesim_traffic *traffic,
                            ar_err *err) {
    ar_scratch scratch = {{0}};
    char path[600];
    ar_cachesim_traffic empty, walk;
    ar_status status = ar_cachesim_check(c, err);
    if (status == AR_OK) status = ar_scratch_open(&scratch, err);
    if (status != AR_OK) return status;
    status = simulate(c, &scratch, limit_s, err);
    ar_scratch_path(&scratch, "dump.1", path, sizeof path);
    if (status == AR_OK) status = ar_cachesim_read(path, &empty, err);
    ar_scratch_path(&scratch, "dump.2", path, sizeof path);
    if (status == AR_OK) status = ar_cachesim_read(path, &walk, err);
    ar_scratch_close(&scratch);
    if (status == AR_OK)
        *traffic = (ar_cachesim_traffic){walk.moved_B - empty.moved_B,
                                         walk.allocated_B - empty.allocated_B};
    return status;
}
