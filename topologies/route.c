#include "route.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hosts.h"
#include "route_engine.h"

struct ar_platform {
    pid_t child;
    int fd;
    FILE *log; /* what the child prints */
    char *path;
    ar_hosts hosts;
};

/* ---- the child ---- */

/* Close every file but three and fd: others wait for the end of pipes held here. */
static void close_others(int fd) {
    DIR *dir = opendir("/dev/fd");
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        const long n = strtol(e->d_name, NULL, 10);
        if (n > STDERR_FILENO && n != fd && n != dirfd(dir)) close((int)n);
    }
    closedir(dir);
}

static void run_child(int fd, int log, const char *path, const ar_hosts *order) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    close_others(fd);
    ar_route_engine_serve(fd, path, order);
    _exit(0);
}

/* ---- talking to it ---- */

static bool receive(int fd, void *data, size_t bytes) {
    for (size_t got = 0; got < bytes;) {
        const ssize_t n = recv(fd, (char *)data + got, bytes - got, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

/* Why SimGrid ended, from the log of its process, as "<path><what>: SimGrid: <reason>".
 * It prints "[time] file:line: [module/CRITICAL] Uncaught exception <type>: <reason>" or
 * "... Parse error at <path>:<line>: <reason>", and a backtrace. */
static ar_status refuse_by_log(FILE *log, const char *path, const char *what, ar_err *err) {
    char line[2048], first[2048] = "";
    rewind(log);
    while (fgets(line, sizeof line, log)) {
        line[strcspn(line, "\n")] = '\0';
        if (!*first) memcpy(first, line, sizeof line);
        char *reason = strstr(line, "/CRITICAL] ");
        if (!reason) reason = strstr(line, "/ERROR] ");
        if (!reason) continue;
        reason = strstr(reason, "] ") + 2;
        char *type = strncmp(reason, "Uncaught exception ", 19) == 0 ? strstr(reason, ": ") : NULL;
        if (type) reason = type + 2;
        char *place = strncmp(reason, "Parse error at ", 15) == 0 ? reason + 15 : NULL;
        const char *number =
            place && strncmp(place, path, strlen(path)) == 0 ? place + strlen(path) : "";
        if (*number != ':') return ar_fail(err, AR_EINPUT, "%s%s: SimGrid: %s", path, what, reason);
        const int digits = (int)strspn(number + 1, "0123456789");
        return ar_fail(err, AR_EINPUT, "%s%.*s%s: SimGrid%s", path, digits + 1, number, what,
                       number + 1 + digits);
    }
    return ar_fail(err, AR_EINPUT, "%s%s: SimGrid: %s", path, what,
                   *first ? first : "ended without a message");
}

static ar_status child_failed(ar_platform *p, const char *what, ar_err *err) {
    waitpid(p->child, NULL, 0);
    p->child = 0;
    return refuse_by_log(p->log, p->path, what, err);
}

static ar_status hear_hello(ar_platform *p, ar_err *err) {
    ar_route_hello hello;
    if (!receive(p->fd, &hello, sizeof hello)) return child_failed(p, "", err);
    char *text = malloc(hello.bytes + 1);
    if (!text) return ar_fail(err, AR_ERUN, "%s: out of memory", p->path);
    if (!receive(p->fd, text, hello.bytes)) {
        free(text);
        return child_failed(p, "", err);
    }
    text[hello.bytes] = '\0';
    if (!hello.ok) {
        ar_fail(err, AR_EINPUT, "%s: %s", p->path, text);
        free(text);
        return AR_EINPUT;
    }
    p->hosts = (ar_hosts){.text = text, .size = hello.bytes, .room = hello.bytes};
    if (!ar_hosts_index(&p->hosts)) return ar_fail(err, AR_ERUN, "%s: out of memory", p->path);
    if (p->hosts.count == 0) return ar_fail(err, AR_EINPUT, "%s: platform has no host", p->path);
    return AR_OK;
}

/* ---- opening ---- */

static ar_status start(ar_platform *p, const ar_hosts *order, ar_err *err) {
    int pair[2];
    p->log = tmpfile();
    if (!p->log) return ar_fail(err, AR_ERUN, "no temporary file: %s", strerror(errno));
    fcntl(fileno(p->log), F_SETFD, FD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return ar_fail(err, AR_ERUN, "no socket pair: %s", strerror(errno));
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fcntl(pair[1], F_SETFD, FD_CLOEXEC);
    fflush(NULL); /* SimGrid may end the child with exit(), which would write this again */
    p->child = fork();
    if (p->child == 0) run_child(pair[1], fileno(p->log), p->path, order);
    close(pair[1]);
    p->fd = pair[0];
    if (p->child < 0) return ar_fail(err, AR_ERUN, "cannot fork: %s", strerror(errno));
    return AR_OK;
}

ar_status ar_platform_open(const char *path, ar_platform **platform, ar_err *err) {
    ar_hosts order = {0};
    struct stat st;
    if (!ar_route_engine_built())
        return ar_fail(err, AR_ERUN, "%s: platforms need SimGrid: built without SimGrid", path);
    if (stat(path, &st) != 0) return ar_fail(err, AR_EINPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return ar_fail(err, AR_EINPUT, "%s: is not a regular file", path);
    ar_status status = ar_hosts_scan(path, &order, err);
    if (status != AR_OK) return status;
    ar_platform *p = calloc(1, sizeof *p);
    if (!p) {
        ar_hosts_free(&order);
        return ar_fail(err, AR_ERUN, "%s: out of memory", path);
    }
    p->fd = -1;
    p->path = strdup(path);
    status = p->path ? start(p, &order, err) : ar_fail(err, AR_ERUN, "%s: out of memory", path);
    if (status == AR_OK) status = hear_hello(p, err);
    ar_hosts_free(&order);
    if (status == AR_OK)
        *platform = p;
    else
        ar_platform_close(p);
    return status;
}

void ar_platform_close(ar_platform *p) {
    if (!p) return;
    if (p->fd >= 0) {
        shutdown(p->fd, SHUT_RDWR); /* a later child may hold this socket too */
        close(p->fd);
    }
    if (p->child > 0) waitpid(p->child, NULL, 0);
    if (p->log) fclose(p->log);
    ar_hosts_free(&p->hosts);
    free(p->path);
    free(p);
}

/* ---- questions ---- */

size_t ar_platform_hosts(const ar_platform *platform) {
    return platform->hosts.count;
}

const char *ar_platform_host(const ar_platform *platform, size_t i) {
    return platform->hosts.name[i];
}

size_t ar_platform_find(const ar_platform *platform, const char *name) {
    size_t i = 0;
    while (i < platform->hosts.count && strcmp(platform->hosts.name[i], name) != 0)
        i++;
    return i;
}

ar_status ar_platform_route(ar_platform *p, size_t i, size_t j, double *latency_s,
                            double *bandwidth_Bps, ar_err *err) {
    const ar_route_ask ask = {i, j};
    ar_route_answer answer = {0, INFINITY};
    char what[600];
    if (i >= p->hosts.count || j >= p->hosts.count)
        return ar_fail(err, AR_EINPUT, "%s: hosts %zu and %zu of %zu", p->path, i, j,
                       p->hosts.count);
    snprintf(what, sizeof what, ": route from '%.200s' to '%.200s'", p->hosts.name[i],
             p->hosts.name[j]);
    if (p->child == 0) return ar_fail(err, AR_EINPUT, "%s%s: SimGrid has ended", p->path, what);
    if (i != j && (send(p->fd, &ask, sizeof ask, MSG_NOSIGNAL) != (ssize_t)sizeof ask ||
                   !receive(p->fd, &answer, sizeof answer)))
        return child_failed(p, what, err);
    if (!(answer.bandwidth_Bps > 0)) /* SimGrid's answer for a route of no links */
        return ar_fail(err, AR_EINPUT, "%s%s: has no links", p->path, what);
    *latency_s = answer.latency_s;
    *bandwidth_Bps = answer.bandwidth_Bps;
    return AR_OK;
}
