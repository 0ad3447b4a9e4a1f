/*
 * Programs with an ailment and without it, for what a replay says of the difference:
 *
 *     mended NAME ill|mended [STEPS]
 *
 *   balance    the last rank computes three times as long; mended: each as long as their mean
 *   turns      a rank at a time does, in turn
 *   speed      the last rank computes more slowly, everywhere
 *   function   smooth() takes twice as long as it may
 *   barrier    a barrier after each step, of which another rank takes longer each time; mended: none
 *   network    messages and operations of many kinds, up to the eager limit; mended is the same, on another network
 *   large      likewise, above it
 *   overlap    a sum of all, of which another rank is late each time, and work that does not need it; mended: it is waited for after that
 *   later      likewise, and messages and more work before it is needed
 *   sends      large messages to a rank that computes for longer, and work; mended: the sends are waited for after that
 *   receives   messages of a rank that computes for longer, and work; mended: likewise, of the receives
 *   early      large messages to a rank that computes for longer; mended: it posts the receives before that
 *   hidden     two ranks are slow, in different functions; mended: the first of them is not
 */
#include "work.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000ull
#define MS 1000000ull
#define NOINLINE __attribute__((noinline))

enum { LARGEST = 1 << 16 };

static int rank, ranks, step, ill;
static double out[LARGEST], in[LARGEST];

static void ring(int count)
{
    MPI_Sendrecv(out, count, MPI_DOUBLE, (rank + 1) % ranks, 1, in, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void sum(int count) { MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static NOINLINE void balance(void)
{
    int slow = rank == ranks - 1;
    work_ns(ill ? slow ? 15 * MS : 5 * MS : (5 * (uint64_t)ranks + 10) * MS / (uint64_t)ranks);
    sum(1);
}

static NOINLINE void turns(void)
{
    int slow = rank == step % ranks;
    work_ns(ill ? slow ? 15 * MS : 5 * MS : (5 * (uint64_t)ranks + 10) * MS / (uint64_t)ranks);
    sum(1);
}

static NOINLINE void speed(void)
{
    uint64_t part = ill && rank == ranks - 1 ? 5 : 4;
    work_ns(part * MS);
    ring(100);
    work_ns(part * MS / 2);
    sum(1);
}

static NOINLINE void smooth(void)
{
    ring(10);
    work_ns(ill ? 8 * MS : 4 * MS);
    ring(10);
}

static NOINLINE void function(void)
{
    work_ns(3 * MS);
    sum(1);
    smooth();
}

static NOINLINE void barrier(void)
{
    work_ns(rank == ranks - 1 - step % ranks ? 9 * MS : 5 * MS); /* against the ring, so that delays do not add up */
    ring(10);
    if (ill)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void traffic(int count)
{
    work_ns(100 * US * (uint64_t)(1 + rank % 3));
    ring(count);
    MPI_Bcast(out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    work_ns(50 * US);
    MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    MPI_Scan(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    sum(count);
    MPI_Request r[2];
    MPI_Irecv(in, count, MPI_DOUBLE, (rank + 1) % ranks, 2, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 2, MPI_COMM_WORLD, &r[1]);
    work_ns(20 * US);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static NOINLINE void network(void) { traffic(200); }
static NOINLINE void large(void) { traffic(20000); }

static void late(void) { work_ns(rank == ranks - 1 - step % ranks ? 9 * MS : 5 * MS); }

static NOINLINE void overlap(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    late();
    if (ill)
        sum(5000);
    else
        MPI_Iallreduce(out, in, 5000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    work_ns((2 + (uint64_t)rank % 2) * MS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    ring(10);
}

static NOINLINE void later(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    late();
    if (ill)
        sum(1);
    else
        MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    work_ns(1 * MS);
    ring(10);
    work_ns((1 + (uint64_t)rank % 2) * MS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Bcast(out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Messages from even ranks to odd ones, and work of each before, between and after. */
static void pairs(int count, uint64_t before_send, uint64_t before_receive, uint64_t after, int isend, int irecv, int early)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int other = rank ^ 1, sends = rank % 2 == 0;
    if (other < ranks && !sends && early)
        MPI_Irecv(in, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &r);
    work_ns(sends ? before_send : before_receive);
    if (other < ranks && sends) {
        if (isend)
            MPI_Isend(out, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &r);
        else
            MPI_Send(out, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD);
    } else if (other < ranks && !early) {
        if (irecv)
            MPI_Irecv(in, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &r);
        else
            MPI_Recv(in, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (early)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    work_ns(after);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    sum(1);
}

static NOINLINE void sends(void) { pairs(20000, 1 * MS, 3 * MS, rank % 2 ? 1 * MS : 3 * MS, !ill, 0, 0); }
static NOINLINE void receives(void) { pairs(200, 3 * MS, 1 * MS, rank % 2 ? 3 * MS : 1 * MS, 0, !ill, 0); }
static NOINLINE void early(void) { pairs(20000, 1 * MS, 4 * MS, rank % 2 ? 1 * MS : 3 * MS, 0, 0, !ill); }

static NOINLINE void first_part(void)
{
    work_ns(ill && rank == 1 ? 10 * MS : 5 * MS);
    ring(10);
}

static NOINLINE void hidden(void)
{
    first_part();
    work_ns(rank == 0 ? 10 * MS : 5 * MS);
    ring(10);
    sum(1);
}

static const struct {
    const char *name;
    void (*step)(void);
} programs[] = {
    {"balance", balance}, {"turns", turns}, {"speed", speed}, {"function", function}, {"barrier", barrier},
    {"network", network}, {"large", large}, {"overlap", overlap}, {"later", later}, {"sends", sends}, {"receives", receives},
    {"early", early}, {"hidden", hidden},
};

int main(int argc, char **argv)
{
    void (*one)(void) = NULL;
    int steps = argc > 3 ? atoi(argv[3]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; argc > 2 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(argv[1], programs[i].name) == 0)
            one = programs[i].step;
    if (!one) {
        if (rank == 0)
            fprintf(stderr, "usage: mended NAME ill|mended [STEPS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    ill = strcmp(argv[2], "ill") == 0;
    for (step = 0; step < steps; step++)
        one();
    MPI_Finalize();
    return 0;
}
