/*
 * The same program for TAU and for Marple: what are timers where TAU is there are regions where it is not. Of TAU's
 * calls it knows that they may be missing.
 *
 *     program [blocking|collective|flight|communicators|odd|threads]
 */
#include "../work.h"
#include "host.h"

#include <marple.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#pragma weak Tau_start
#pragma weak Tau_stop
#pragma weak Tau_phase
#pragma weak Tau_trigger_userevent
#pragma weak Tau_metadata

enum { STEPS = 20, N = 1000 };
static int rank, ranks;
static double data[N * 64], more[N * 64];

static void begin(const char *name)
{
    if (Tau_start)
        Tau_start(name);
    else
        marple_region_begin(name);
}

static void end(const char *name)
{
    if (Tau_stop)
        Tau_stop(name);
    else
        marple_region_end(name);
}

static void report(const char *name, double value)
{
    if (Tau_trigger_userevent)
        Tau_trigger_userevent(name, value);
}

/* Around the ring, with a rank that is slow; and large messages, whose sender waits. */
static void blocking(void)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (int i = 0; i < STEPS; i++) {
        begin("solve");
        begin("compute");
        work_ns(100000 + (rank == 1) * 80000u);
        end("compute");
        int n = i % 2 ? N : 10;
        if (rank % 2 == 0) {
            MPI_Send(data, n, MPI_DOUBLE, right, i % 3, MPI_COMM_WORLD);
            MPI_Recv(more, N, MPI_DOUBLE, left, i % 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(more, N, MPI_DOUBLE, left, i % 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, n, MPI_DOUBLE, right, i % 3, MPI_COMM_WORLD);
        }
        MPI_Sendrecv(data, 5, MPI_INT, right, 7, more, 5, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ssend(data, 3, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD);
        end("solve");
        report("residual", 1000 >> (i % 8));
        MPI_Allreduce(data, more, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void collective(void)
{
    for (int i = 0; i < STEPS; i++) {
        int root = i % ranks;
        begin("collect");
        work_ns(10000u * (unsigned)(1 + (rank + i) % ranks));
        MPI_Bcast(data, 10, MPI_DOUBLE, root, MPI_COMM_WORLD);
        MPI_Reduce(data, more, 20, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        MPI_Allgather(data, 3, MPI_INT, more, 3, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoall(data, 4, MPI_INT, more, 4, MPI_INT, MPI_COMM_WORLD);
        MPI_Gather(data, 5, MPI_INT, more, 5, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatter(data, 6, MPI_INT, more, 6, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scan(data, more, 7, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        end("collect");
    }
}

/* Receives that are posted early and completed late. */
static void flight(void)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, done = 0;
    for (int i = 0; i < STEPS; i++) {
        MPI_Request r[5];
        begin("exchange");
        MPI_Irecv(data, N, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(more, N, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &r[1]);
        MPI_Irecv(more, N, MPI_DOUBLE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &r[4]);
        work_ns(20000u * (unsigned)(1 + rank));
        MPI_Isend(data, 100, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[2]);
        MPI_Isend(more, 50, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &r[3]);
        if (i % 3)
            MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
        else
            for (int k = 0; k < 5; k++)
                MPI_Wait(&r[k], MPI_STATUS_IGNORE);
        end("exchange");
    }
    MPI_Request r;
    MPI_Irecv(data, N, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &r);
    MPI_Send(more, 10, MPI_DOUBLE, right, 3, MPI_COMM_WORLD);
    while (!done)
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
}

static void communicators(void)
{
    MPI_Comm half;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    int me, n;
    MPI_Comm_rank(half, &me);
    MPI_Comm_size(half, &n);
    for (int i = 0; i < STEPS; i++) {
        work_ns(30000u * (unsigned)(1 + rank));
        MPI_Sendrecv(data, 9, MPI_INT, (me + 1) % n, 4, more, 9, MPI_INT, (me + n - 1) % n, 4, half, MPI_STATUS_IGNORE);
        MPI_Allreduce(data, more, 2, MPI_DOUBLE, MPI_SUM, half);
        MPI_Allreduce(data, more, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&half);
}

/* Names of any bytes, values of any size, ends that come too early, too late or never. */
static void odd(void)
{
    static const char *const names[] = {"quote\" <b>&amp;</b> \\ 'x'", "control\x01\x1b[31m\n\ttab", "not UTF-8 \xff\xfe\x80", "\xe2\x88\x91 sum", "", "100%s%n"};
    char *longest = malloc(70000);
    memset(longest, 'x', 69999);
    longest[69999] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin(names[i]);
        report(names[i], (double)i);
        if (Tau_metadata)
            Tau_metadata(names[i], names[i]);
        work_ns(1000);
        end(names[i]);
    }
    report("below zero", -5.5);
    report("below zero", -2.25);
    begin(longest);
    report(longest, 18e18);
    if (Tau_metadata)
        Tau_metadata("longest", longest);
    end(longest);
    end("never begun");
    begin("outer");
    begin("inner");
    end("outer"); /* and inner with it */
    end("inner");
    for (int i = 0; i < 300; i++)
        begin("deep");
    for (int i = 0; i < 300; i++)
        end("deep");
    begin("not ended");
    if (Tau_phase) {
        Tau_phase("phase", true);
        MPI_Barrier(MPI_COMM_WORLD);
        Tau_phase("phase", false);
        Tau_phase("timed phase", true);
        Tau_start("timed phase");
        MPI_Barrier(MPI_COMM_WORLD);
        Tau_phase("timed phase", false);
        Tau_stop("timed phase");
    }
    if (Tau_start) { /* an MPI call that an exception leaves */
        begin("left");
        begin("MPI_Barrier()");
        begin("MPI_Barrier()");
        end("MPI_Barrier()");
        begin("MPI_Recv()");
        end("left");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(longest);
}

static void *in_thread(void *argument)
{
    (void)argument;
    for (int i = 0; i < 1000; i++) {
        begin("threaded");
        report("from threads", i);
        end("threaded");
    }
    return NULL;
}

static void threads(void)
{
    pthread_t list[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&list[i], NULL, in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(list[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"blocking", blocking}, {"collective", collective}, {"flight", flight}, {"communicators", communicators}, {"odd", odd}, {"threads", threads}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (Tau_metadata)
        Tau_metadata("grid", "1000x1000");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc < 2 || !strcmp(argv[1], parts[i].name))
            parts[i].run();
    MPI_Finalize();
    return 0;
}
