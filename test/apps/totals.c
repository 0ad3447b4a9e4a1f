/*
 * What a thread is told that it has spent never becomes less, and in MPI it has spent no more than in all: on a core
 * that a child keeps busy, of which it is taken at any time, between two readings or within them. Nor is an invocation
 * taken for longer because somebody asks meanwhile.
 */
#define _GNU_SOURCE
#include "marple.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t busy = fork();
    if (busy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            ;
    }
    struct marple_totals last, now;
    int wrong = !marple_read_totals(&last);
    double end = cpu() + 0.5;
    for (int i = 0; cpu() < end && !wrong; i++) {
        for (volatile int k = 0; k < 20000 * (i % 9); k++)
            ;
        if (i % 3 == 0)
            MPI_Barrier(MPI_COMM_SELF);
        marple_read_totals(&now);
        if (now.wall < last.wall || now.mpi < last.mpi || now.mpi - last.mpi > now.wall - last.wall) {
            printf("round %d: %.0f ns, of these %.0f in MPI\n", i, (double)now.wall - (double)last.wall, (double)now.mpi - (double)last.mpi);
            wrong = 1;
        }
        last = now;
    }
    static struct marple_method spin = MARPLE_METHOD("Spin", "ask");
    struct marple_invocation call;
    for (int i = 0; i < 4; i++) {
        marple_invocation_begin(&call, &spin, NULL);
        for (end = cpu() + 0.04; cpu() < end;)
            ;
        marple_read_totals(&now);
        marple_invocation_end(&call);
    }
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    MPI_Finalize();
    return wrong;
}
