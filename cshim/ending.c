/*
 * Ends that are not MPI_Finalize's: exit, a return from main, MPI_Abort, and an MPI_Finalize that could
 * not merge because a rank is gone. One rank then has `marple recover` read what all have left in the
 * run directory.
 *
 * That is another process, because this one may be on its way out from anywhere, a signal handler
 * included: only what is async-signal-safe is done here, and every wait has an end. After a signal that
 * kills nothing of ours runs; the files are there for `marple recover` all the same.
 */
#include "core.h"
#include "sample.h"
#include "shim.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDRESSES_NEEDED (1ull << 30) /* a Go program reserves 0.6 GB before it does anything */
#define RANKS_MOST 1024        /* beyond, reading all files would hold up the end of the job */
#define NAP_NS 2000000
#define CORE_MS 500          /* core time that the report of a run which ends early may take, */
#define CORE_MS_PER_RANK 50  /* and for each rank */
#define REPORTER "reporter" /* in raw/: made by the rank that has the report made, and written to when it is there */

extern char **environ;

/* Beside this library, or in bin/ where it is in lib/ or lib/marple/. */
static bool find_command(char *path, size_t size)
{
    static const char *const places[] = {"marple", "../bin/marple", "../../bin/marple"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        if (mrl_beside(places[i], path, size) && !access(path, X_OK))
            return true;
    return false;
}

/* The application's soft limits are not the command's. False: the hard ones are too tight for it, too. */
static bool lift_limits(void)
{
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC};
    struct rlimit limit;
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++)
        if (!getrlimit(limits[i], &limit)) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(limits[i], &limit);
        }
    return getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur >= ADDRESSES_NEEDED;
}

/* "clone" is a name that a program may have given a function of its own, which would come before the C library's. */
static int (*make_child)(int (*)(void *), void *, int, void *, ...);

__attribute__((constructor)) static void find(void)
{
    *(void **)&make_child = dlsym(RTLD_NEXT, "clone");
}

/* In the child, which still shares our memory: nothing is changed but its own signals, limits and descriptors. */
static int become_recover(void *argument)
{
    char *const *arguments = argument;
    if (!lift_limits() || !mrl_change_directory()) /* so that the command works where the records are, and nowhere else */
        _exit(127);
    struct sigaction action;
    sigset_t none;
    for (int s = 1; s < NSIG; s++)
        if (!sigaction(s, NULL, &action) && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL) {
            action = (struct sigaction){.sa_handler = SIG_DFL};
            sigaction(s, &action, NULL);
        }
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere >= 0)
        dup2(nowhere, STDIN_FILENO);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (!mrl_may_write(fd))
            nowhere >= 0 ? dup2(nowhere, fd) : close(fd);
    if (mrl.settings.report == MRL_REPORT_STDERR)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    else if (mrl.settings.report == MRL_REPORT_NONE && nowhere >= 0)
        dup2(nowhere, STDOUT_FILENO);
    syscall(SYS_close_range, 3u, ~0u, 0u);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(arguments[0], arguments, environ);
    _exit(127);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

static bool expired(uint64_t begin)
{
    return mrl_raw_ns() - begin > (uint64_t)mrl.settings.deadline * 1000000000u;
}

static uint64_t core_ms; /* that the command may take */

/* In core time, which is the same whatever else runs here; the wall's is bounded by the deadline. */
static bool spent(pid_t command)
{
    clockid_t clock;
    struct timespec used;
    return !clock_getcpuclockid(command, &clock) && !clock_gettime(clock, &used) &&
           (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000 > core_ms;
}

static _Alignas(16) char stacks[2][16384];

/* Between us and the command, whose end would send the application a SIGCHLD: this child's end does not. */
static int supervise(void *arguments)
{
    int status = 0;
    pid_t command = make_child(become_recover, stacks[1] + sizeof stacks[1], CLONE_VM | CLONE_VFORK | SIGCHLD, arguments);
    if (command < 0)
        return 1;
    for (uint64_t begin = mrl_raw_ns(); waitpid(command, &status, WNOHANG) == 0; nap())
        if (expired(begin) || spent(command))
            kill(command, SIGKILL);
    return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Runs the command to its end, with all signals blocked meanwhile. */
static bool recover(const char *wait)
{
    static char path[4096 + 64];
    /* Records that the core could not merge in MPI_Finalize stay, so that it can be seen why. */
    bool keep = mrl.settings.keep_raw || mrl.header->state == MRL_FINALIZED;
    char *arguments[] = {path, "recover", "--wait", (char *)(uintptr_t)wait, keep ? "--clear=false" : "--clear", ".", NULL};
    sigset_t all, mask;
    int status = 1;
    if (!make_child || !find_command(path, sizeof path))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pid_t child = make_child(supervise, stacks[0] + sizeof stacks[0], CLONE_VM | CLONE_VFORK, arguments);
    if (child > 0)
        waitpid(child, &status, __WALL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Leaving now might be what makes the launcher kill the rank that is reporting. False: nobody is, errno says why. */
static bool await_report(void)
{
    struct stat info = {0};
    for (uint64_t begin = mrl_raw_ns(); !expired(begin); nap()) {
        int fd = mrl_raw_open(REPORTER, O_RDONLY);
        bool done = fd < 0 || fstat(fd, &info) || info.st_size;
        if (fd >= 0)
            close(fd);
        else if (errno == ENOENT)
            mrl_raw_finish();
        else
            return false;
        if (done)
            return true;
    }
    return true;
}

/*
 * This process ends: threads that go on computing meanwhile must not keep the command from the cores. Priorities are the
 * kernel's threads' own, and may always be lowered.
 */
static void lower_others(void)
{
    enum { LEAST = 19 };
    char entries[4096];
    long self = syscall(SYS_gettid), length;
    int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (tasks >= 0 && (length = syscall(SYS_getdents64, tasks, entries, sizeof entries)) > 0) {
        const struct dirent64 *e;
        for (long at = 0; at < length; at += e->d_reclen) {
            e = (const struct dirent64 *)(entries + at);
            int task = atoi(e->d_name);
            if (task > 0 && task != self)
                setpriority(PRIO_PROCESS, (id_t)task, LEAST);
        }
    }
    if (tasks >= 0)
        close(tasks);
}

static void settle(const char *wait, const char *why, bool shared)
{
    if (!mrl.in_file || mrl.confined || (mrl.apart && shared)) /* the report is made where rank 0 is */
        return;
    int fd = mrl_raw_open(REPORTER, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) {
        void (*say)(const char *, ...) = shared ? mrl_say : mrl_say_here;
        if (errno == EEXIST && await_report())
            return;
        if (errno != EACCES && !mrl_directory_there())
            mrl_say_here("%s is another directory than the one that was made for the records, which stay there: %s", mrl.raw, strerror(errno));
        else if (errno != ENOENT) /* which another rank's report has removed */
            say("%s (%s); records are kept, make the report with: marple recover %s", *why ? why : "no report can be made here", strerror(errno),
                mrl.directory);
        return;
    }
    if (mrl.apart)
        mrl_say_here("%s%srecords are kept, those of this host (%s) in %s; make the report on host %s with: marple recover %s", why, *why ? "; " : "",
                     mrl.header->host_name, mrl.directory, mrl.home.host, mrl.home.path);
    else if (mrl.header->ranks > RANKS_MOST || !recover(wait))
        mrl_say_here("%s; records are kept, make the report with: marple recover %s",
                     *why ? why : "this end of the run leaves no report", mrl.directory);
    else if (*why)
        mrl_say_here("%s; marple recover made the report", why);
    ssize_t written = write(fd, "done\n", 5);
    (void)written;
    close(fd);
}

void mrl_settle(const char *wait, const char *why, bool shared)
{
    core_ms = UINT64_MAX;
    settle(wait, why, shared);
    if (!mrl.in_file && !mrl.confined)
        mrl_say("%s; there will be no report", *why ? why : "records that were in memory only are lost");
}

/*
 * MPI is finalised, and rank 0 names, diagnoses and stores what was gathered. Another rank that ends with an error now
 * would make the launcher kill rank 0: it sleeps until what was gathered is not needed any more, or rank 0 is gone.
 */
static struct mrl_teller teller;

void mrl_await_conclusion(int code)
{
    if (!code || !teller.gathered || getpid() != mrl.pid)
        return;
    bool here = teller.host == mrl.header->host && teller.pid_space == mrl.header->pid_space;
    for (uint64_t begin = mrl_raw_ns(); !expired(begin) && !(here && kill(teller.pid, 0) && errno == ESRCH); nap()) {
        int fd = mrl_raw_open(MRL_MERGED, O_RDONLY);
        if (fd < 0) {
            mrl_raw_finish();
            return;
        }
        close(fd);
    }
}

static void ends(int code, void *nothing)
{
    (void)nothing;
    mrl_await_conclusion(code);
}

/* Who is going to report: what rank 0 tells all of itself. */
void mrl_concluding(const struct mrl_teller *who)
{
    if (mrl.header->rank == 0 || !mrl.in_file)
        return;
    teller = *who;
    on_exit(ends, NULL);
}

/* The application is ending by itself, not through MPI_Finalize. */
static void end_here(enum mrl_state how, int code, const char *error)
{
    if (!mrl.started || mrl.stopped || (!mrl.confined && getpid() != mrl.pid))
        return;
    mrl_samples_stop();
    mrl_switch(false);
    mrl.stopped = true;
    struct mrl_header *h = mrl.header;
    h->abort_code = code;
    const struct mrl_thread *t = mrl_self;
    if (t && mrl_within(t, mrl_stack()))
        h->ended_by = t->index + 1u;
    for (size_t i = 0; i < sizeof h->error - 1 && error[i]; i++)
        h->error[i] = error[i];
    h->last = mrl_instant_now();
    h->state = how;
    if (!mrl.confined)
        lower_others();
    core_ms = CORE_MS + CORE_MS_PER_RANK * (uint64_t)h->ranks;
    settle("200ms", mrl_core_why(), false); /* ranks that fail together do so within this, mostly */
}

void mrl_aborts(int code)
{
    end_here(MRL_ABORTED, code, "");
}

/* The MPI library is about to do the same, of its own accord. */
void mrl_fails(int class, const char *error)
{
    end_here(MRL_FATAL, class, error);
}

/* After the application's own handlers (atexit, destructors of C++), one of which may yet call MPI_Finalize. */
__attribute__((destructor)) static void exits(void)
{
    end_here(MRL_EXITED, 0, "");
}

static bool header_of(int rank, struct mrl_header *out)
{
    char name[MRL_FILE];
    mrl_store_name(name, rank);
    int fd = mrl_raw_open(name, O_RDONLY);
    if (fd < 0)
        return false;
    bool whole = pread(fd, out, sizeof *out, 0) == (ssize_t)sizeof *out;
    close(fd);
    return whole;
}

/* Whether a rank is known to have ended without MPI_Finalize. Of ranks on other hosts nothing is known. */
bool mrl_rank_gone(int rank)
{
    struct mrl_header *own = mrl.header, its;
    if (!mrl.in_file || mrl.confined || !header_of(rank, &its) || its.host != own->host || its.pid_space != own->pid_space)
        return false;
    return its.state >= MRL_EXITED || (kill((pid_t)its.pid, 0) && errno == ESRCH);
}
