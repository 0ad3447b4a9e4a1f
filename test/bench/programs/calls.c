/*
 * Nanoseconds per MPI call, 8-byte messages on MPI_COMM_SELF: thread CPU time, the best of several
 * rounds. Prints one line per call: name and nanoseconds.
 *
 *     calls [ROUNDS [CALLS-PER-ROUND [NAME]]]
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double a[2], b[2];

static void comm_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_SELF, &rank);
}

static void iprobe(void)
{
    int flag;
    MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void sendrecv(void)
{
    MPI_Sendrecv(a, 1, MPI_DOUBLE, 0, 1, b, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void allreduce(void)
{
    MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void nonblocking(void)
{
    MPI_Request r[2];
    MPI_Irecv(b, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[0]);
    MPI_Isend(a, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    {"Comm_rank", comm_rank}, {"Iprobe", iprobe}, {"Sendrecv", sendrecv}, {"Allreduce", allreduce}, {"Irecv+Isend+Waitall", nonblocking},
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 25, n = argc > 2 ? atoi(argv[2]) : 100000;
    cpu_set_t one;
    MPI_Init(&argc, &argv);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        if (argc > 3 && strcmp(argv[3], calls[c].name) != 0)
            continue;
        double best = 1e30;
        for (int r = 0; r < rounds; r++) {
            double start = now();
            for (int i = 0; i < n; i++)
                calls[c].call();
            double ns = (now() - start) / n;
            best = ns < best ? ns : best;
        }
        printf("%s %.1f\n", calls[c].name, best);
    }
    MPI_Finalize();
    return 0;
}
