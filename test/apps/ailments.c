/*
 * A time-stepping program with one ailment at a time, chosen by name:
 *
 *     ailments NAME [STEPS]
 *
 *   healthy      equal work, few large messages, one reduction per step
 *   slow-rank    the last rank works three times as long in one routine
 *   collective   most of the time goes into one large all-to-all
 *   tiny         neighbours exchange single numbers instead of rows
 *   polling      ranks ask with MPI_Iprobe until a late message comes
 *   asking       none: ranks look for a message between pieces of work, and most often there is none
 *   progress     ranks wait for messages, begun on both sides, that move only when the other one calls MPI again
 *   mpi          much time in many kinds of calls, no single cause
 */
#include "work.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000ull
#define MS 1000000ull

enum { WIDTH = 4096 };

static int rank, ranks, steps = 50;
static double row[2][WIDTH], halo[2][WIDTH];

static __attribute__((noinline)) void update(uint64_t ns)
{
    work_ns(ns);
}

/* Exchanges the edges with both neighbours, without waiting in turn. */
static __attribute__((noinline)) void exchange(int count)
{
    MPI_Request r[4];
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Irecv(halo[0], count, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(halo[1], count, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(row[0], count, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(row[1], count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static __attribute__((noinline)) double residual(void)
{
    double mine = 1.0 / (1 + rank), all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void healthy(void)
{
    update(10 * MS);
    exchange(WIDTH);
    residual();
}

static void slow_rank(void)
{
    update(5 * MS);
    exchange(WIDTH);
    update(rank == ranks - 1 ? 15 * MS : 5 * MS);
    residual();
}

static void collective(void)
{
    static double *out, *in;
    size_t count = 1 << 18;
    if (!out) {
        out = calloc((size_t)ranks * count, sizeof *out);
        in = calloc((size_t)ranks * count, sizeof *in);
    }
    update(1 * MS);
    MPI_Alltoall(out, (int)count, MPI_DOUBLE, in, (int)count, MPI_DOUBLE, MPI_COMM_WORLD);
    residual();
}

static void tiny(void)
{
    update(500 * US);
    for (int i = 0; i < 500; i++)
        exchange(1);
}

/* Of each two ranks one works and the other waits, in turn. */
static void polling(void)
{
    static int turn;
    int other = rank ^ 1, flag = 0;
    turn = !turn;
    if (other == ranks) {
        update(10 * MS);
    } else if (rank % 2 == turn) {
        update(5 * MS);
        MPI_Send(row[0], WIDTH, MPI_DOUBLE, other, 7, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &status);
        MPI_Recv(halo[0], WIDTH, MPI_DOUBLE, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* One of two begins an exchange and works for long, the next time the other one. */
static void progress(void)
{
    static int turn;
    int other = rank ^ 1;
    MPI_Request r[2];
    turn = !turn;
    if (other == ranks) {
        update(10 * MS);
        return;
    }
    MPI_Irecv(halo[0], WIDTH, MPI_DOUBLE, other, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(row[0], WIDTH, MPI_DOUBLE, other, 7, MPI_COMM_WORLD, &r[1]);
    update(rank % 2 == turn ? 10 * MS : 2 * MS);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void asking(void)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, flag;
    for (int i = 0; i < 1000; i++) {
        update(5 * US);
        MPI_Iprobe(left, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Send(row[0], 1, MPI_DOUBLE, right, 7, MPI_COMM_WORLD);
    do
        MPI_Iprobe(left, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Recv(halo[0], 1, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void mpi(void)
{
    static double buffer[1 << 17], other[1 << 17];
    int count = 1 << 17, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    update(200 * US);
    MPI_Sendrecv(buffer, count, MPI_DOUBLE, right, 3, other, count, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(buffer, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(buffer, other, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Sendrecv(buffer, count, MPI_DOUBLE, left, 4, other, count, MPI_DOUBLE, right, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*step)(void);
} ailments[] = {
    {"healthy", healthy}, {"slow-rank", slow_rank}, {"collective", collective},
    {"tiny", tiny},       {"polling", polling},     {"asking", asking}, {"progress", progress},
    {"mpi", mpi},
};

int main(int argc, char **argv)
{
    void (*step)(void) = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; argc > 1 && i < sizeof ailments / sizeof *ailments; i++)
        if (strcmp(argv[1], ailments[i].name) == 0)
            step = ailments[i].step;
    if (argc > 2)
        steps = atoi(argv[2]);
    if (!step) {
        if (rank == 0)
            fprintf(stderr, "usage: ailments healthy|slow-rank|collective|tiny|polling|asking|mpi [STEPS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < steps; i++)
        step();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
