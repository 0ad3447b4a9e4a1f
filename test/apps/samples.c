/*
 * Computing between MPI calls, in functions that call no MPI, and what a timer's signals might disturb.
 *
 *     samples shares       three times as long in one function as in another; a third is inlined into main
 *     samples threads      a thread without MPI computes, longer than it takes until it is noticed
 *     samples neutral      interruptible system calls, rounding, errno, a signal stack, children: exits with 3
 *     samples takes        takes every real-time signal for itself, after MPI_Init; prints how many it got
 *     samples has          ... before MPI_Init
 */
#include "work.h"

#include <errno.h>
#include <fenv.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE __attribute__((noinline)) void
#define MS 1000000ull

/* In this program's own code nearly all the time, on the mock MPI too, and not where it asks what time it is. */
static inline __attribute__((always_inline)) void compute(uint64_t ns)
{
    uint64_t end = cpu_ns() + ns;
    while (cpu_ns() < end)
        for (volatile int i = 0; i < 100000; i++)
            ;
}

HERE heavy(uint64_t ns) { compute(ns); }
HERE light(uint64_t ns) { compute(ns + 1); }
static inline __attribute__((always_inline)) void inlined(uint64_t ns)
{
    compute(ns + 2);
}

static void shares(void)
{
    for (int i = 0; i < 4; i++) {
        heavy(150 * MS);
        light(50 * MS);
        inlined(50 * MS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static _Atomic int noticed;

static void *thread(void *unused)
{
    while (!noticed)
        heavy(MS);
    heavy(300 * MS);
    return unused;
}

static void threads(void)
{
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    light(500 * MS); /* meanwhile new threads are noticed */
    noticed = 1;
    pthread_join(other, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static _Atomic int got;
static void handler(int number)
{
    (void)number;
    got++;
}

static void neutral(void)
{
    static char stack[1 << 16];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    int interrupted = 0, pipes[2], status = 0, changed = 0, rounded = 0;
    sigaltstack(&alternate, NULL);
    fesetround(FE_UPWARD);
    if (pipe(pipes))
        abort();
    for (int i = 0; i < 200; i++) {
        work_ns(MS);
        struct timespec little = {.tv_nsec = MS / 2};
        struct pollfd fd = {.fd = pipes[0], .events = POLLIN};
        interrupted += nanosleep(&little, NULL) != 0;
        interrupted += poll(&fd, 1, 1) != 0;
        errno = ENOTTY;
        work_ns(MS / 2);
        changed += errno != ENOTTY;
        rounded += fegetround() != FE_UPWARD;
    }
    fesetround(FE_TONEAREST);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action;
        int timers = 0;
        work_ns(100 * MS);
        for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
            timers += sigaction(s, NULL, &action) || action.sa_handler != SIG_DFL;
        _exit(timers == 0 ? 4 : 5);
    }
    waitpid(child, &status, 0);
    printf("interrupted %d, errno %d, rounding %d, child %d, shell %d\n", interrupted, changed, rounded, WEXITSTATUS(status), system("exit 6") >> 8);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void take(void)
{
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        signal(s, handler);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "has") == 0)
        take();
    MPI_Init(&argc, &argv);
    if (strcmp(what, "shares") == 0)
        shares();
    if (strcmp(what, "threads") == 0)
        threads();
    if (strcmp(what, "neutral") == 0)
        neutral();
    if (strcmp(what, "takes") == 0) {
        work_ns(100 * MS);
        take();
    }
    if (strcmp(what, "takes") == 0 || strcmp(what, "has") == 0) {
        work_ns(100 * MS);
        int before = got, count = SIGRTMAX - SIGRTMIN + 1;
        for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
            raise(s);
        printf("%d signals nobody sent, %d of %d that were\n", before, got - before, count);
    }
    MPI_Finalize();
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
        struct sigaction action;
        if (sigaction(s, NULL, &action) || (action.sa_handler != SIG_DFL && action.sa_handler != handler))
            printf("signal %d is still taken\n", s);
    }
    return strcmp(what, "neutral") == 0 ? 3 : 0;
}
