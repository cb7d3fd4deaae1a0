#define _DEFAULT_SOURCE /* wait4 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

extern char **environ;

static int spawn(char *const argv[], const char *log_path, const sigset_t *mask, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log_path, O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, mask);
    const int failed = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static void stop_group(pid_t pid) {
    kill(-pid, SIGTERM);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* mpirun ends its ranks */
    kill(-pid, SIGKILL);
}

/* Wait for the child, the limit or an interrupt; true: interrupted. */
static bool wait_for(pid_t pid, const sigset_t *signals, double limit_s, ar_launched *launched,
                     int *status, struct rusage *usage) {
    const double start_s = ar_clock_s();
    bool interrupted = false, stopped = false;
    for (;;) {
        const pid_t got = wait4(pid, status, WNOHANG, usage);
        if (got == pid || (got < 0 && errno != EINTR)) break;
        const double left_s = limit_s - (ar_clock_s() - start_s);
        if (!stopped && (left_s <= 0 || interrupted)) {
            launched->timed_out = !interrupted;
            stopped = true;
            stop_group(pid);
            continue;
        }
        /* SIGCHLD wakes us; the short time covers one that came before the wait */
        const int signal = sigtimedwait(signals, NULL, &(struct timespec){.tv_nsec = 50000000});
        if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) interrupted = true;
    }
    launched->wall_s = ar_clock_s() - start_s;
    return interrupted;
}

ar_status ar_launch(char *const argv[], const char *log_path, double limit_s, ar_launched *launched,
                    ar_err *err) {
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &before);
    *launched = (ar_launched){0};
    pid_t pid = 0;
    int status = 0;
    struct rusage usage = {0};
    const int failed = spawn(argv, log_path, &before, &pid);
    const bool interrupted = !failed && wait_for(pid, &signals, limit_s, launched, &status, &usage);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return ar_fail(err, AR_ERUN, "%s: cannot be started: %s", argv[0], strerror(failed));
    launched->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    launched->peak_B = (int64_t)usage.ru_maxrss * 1024;
    if (interrupted) return ar_fail(err, AR_ERUN, "interrupted");
    return AR_OK;
}

ar_status ar_launch_find(const char *engine, char *path, size_t size, ar_err *err) {
    char self[1024];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    snprintf(path, size, "%s/%s/attnres-rank", self, engine);
    if (access(path, X_OK) == 0) return AR_OK;
    snprintf(path, size, "%s/../libexec/attnres/%s/attnres-rank", self, engine);
    if (access(path, X_OK) == 0) return AR_OK;
    const bool mpi = strcmp(engine, "mpi") == 0;
    return ar_fail(err, AR_ERUN,
                   "%s/%s/attnres-rank is missing: this build has no %s; install it (Debian: apt "
                   "install %s; Fedora: dnf install %s; Spack: spack install %s) and run make",
                   self, engine, mpi ? "Open MPI" : "SimGrid",
                   mpi ? "libopenmpi-dev openmpi-bin" : "simgrid libsimgrid-dev",
                   mpi ? "openmpi-devel" : "simgrid-devel", mpi ? "openmpi" : "simgrid");
}
