/*
 * The same calls, messages, bytes, communicators, phases and regions on every MPI library and at every run,
 * whatever the timing: what arrives first is never known, but what has arrived in the end is.
 *
 *     deterministic [STEPS]
 */
#include "work.h"

#include <marple.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define HERE static __attribute__((noinline)) void

enum { WIDTH = 600 };

static int rank, ranks, left, right;
static double row[2][WIDTH], halo[2][WIDTH];

/* Around the ring: blocking, with and without wildcards, probed, and to nobody. */
HERE point_to_point(MPI_Comm comm, int step)
{
    MPI_Status status;
    int number = 100 * rank + step, got = 0, count;
    MPI_Sendrecv(&number, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, MPI_ANY_TAG, comm, &status);
    if (rank > 0) {
        MPI_Send(row[0], rank * 10, MPI_DOUBLE, 0, 2, comm);
    } else {
        for (int i = 1; i < ranks; i++) /* in whatever order they come */
            MPI_Recv(halo[0], WIDTH, MPI_DOUBLE, MPI_ANY_SOURCE, 2, comm, i % 2 ? &status : MPI_STATUS_IGNORE);
    }
    if (rank % 2 == 0 && rank + 1 < ranks)
        MPI_Ssend(row[0], step, MPI_FLOAT, rank + 1, 3, comm);
    if (rank % 2 == 1) {
        MPI_Probe(MPI_ANY_SOURCE, 3, comm, &status);
        MPI_Get_count(&status, MPI_FLOAT, &count);
        MPI_Recv(halo[0], count, MPI_FLOAT, status.MPI_SOURCE, 3, comm, &status);
    }
    MPI_Send(row[0], 1, MPI_DOUBLE, MPI_PROC_NULL, 4, comm);
    MPI_Recv(row[0], 1, MPI_DOUBLE, MPI_PROC_NULL, 4, comm, MPI_STATUS_IGNORE);
}

/* Non-blocking: all at once, one after the other, a message to oneself, a receive that is taken back. */
HERE non_blocking(MPI_Comm comm)
{
    MPI_Request r[4];
    int which, cancelled;
    MPI_Status status;
    MPI_Irecv(halo[0], WIDTH, MPI_DOUBLE, left, 5, comm, &r[0]);
    MPI_Irecv(halo[1], WIDTH, MPI_DOUBLE, MPI_ANY_SOURCE, 6, comm, &r[1]);
    MPI_Isend(row[0], WIDTH, MPI_DOUBLE, right, 5, comm, &r[2]);
    MPI_Issend(row[1], WIDTH / 2, MPI_DOUBLE, left, 6, comm, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    MPI_Irecv(halo[0], 8, MPI_INT, rank, 7, comm, &r[0]);
    MPI_Isend(row[0], 8, MPI_INT, rank, 7, comm, &r[1]);
    for (int i = 0; i < 2; i++)
        MPI_Waitany(2, r, &which, i ? &status : MPI_STATUS_IGNORE);
    MPI_Irecv(halo[0], 8, MPI_INT, rank, 8, comm, &r[0]);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled)
        MPI_Abort(comm, 3);
}

/* Persistent: started and completed again and again. */
HERE persistent(MPI_Comm comm, int times)
{
    MPI_Request r[2];
    MPI_Status statuses[2];
    MPI_Recv_init(halo[0], WIDTH, MPI_BYTE, left, 9, comm, &r[0]);
    MPI_Send_init(row[0], WIDTH, MPI_BYTE, right, 9, comm, &r[1]);
    for (int i = 0; i < times; i++) {
        if (i % 2)
            MPI_Startall(2, r);
        else
            for (int k = 0; k < 2; k++)
                MPI_Start(&r[k]);
        MPI_Waitall(2, r, i % 2 ? statuses : MPI_STATUSES_IGNORE);
    }
    for (int k = 0; k < 2; k++)
        MPI_Request_free(&r[k]);
}

HERE collectives(MPI_Comm comm)
{
    int size, me, *counts, *starts;
    MPI_Request r;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    int *mine = calloc((size_t)(3 * size * size), sizeof *mine), *all = calloc((size_t)(3 * size * size), sizeof *all);
    counts = calloc((size_t)(2 * size), sizeof *counts);
    starts = counts + size;
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        starts[i] = i * (i + 1) / 2;
    }
    MPI_Barrier(comm);
    MPI_Bcast(all, 5, MPI_INT, size - 1, comm);
    MPI_Reduce(mine, all, 4, MPI_INT, MPI_MAX, 0, comm);
    MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT, MPI_SUM, comm);
    MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, size - 1, comm);
    MPI_Gatherv(mine, counts[me], MPI_INT, all, counts, starts, MPI_INT, 0, comm);
    MPI_Scatter(mine, 3, MPI_INT, all, 3, MPI_INT, 0, comm);
    MPI_Allgather(mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    MPI_Alltoall(mine, 2, MPI_INT, all, 2, MPI_INT, comm);
    MPI_Scan(mine, all, 2, MPI_INT, MPI_SUM, comm);
    MPI_Ibcast(all, 6, MPI_INT, 0, comm, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    free(mine);
    free(all);
    free(counts);
}

/* A column of a matrix, and a triangle: what is sent is smaller than what is spanned. */
HERE derived_types(MPI_Comm comm)
{
    MPI_Datatype column, triangle;
    int lengths[] = {3, 2, 1}, starts[] = {0, 4, 8};
    MPI_Type_vector(10, 2, 20, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Type_indexed(3, lengths, starts, MPI_FLOAT, &triangle);
    MPI_Type_commit(&triangle);
    MPI_Sendrecv(row[0], 1, column, right, 10, halo[0], 20, MPI_DOUBLE, left, 10, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row[0], 2, triangle, left, 11, halo[0], 2, triangle, right, 11, comm, MPI_STATUS_IGNORE);
    MPI_Bcast(row[1], 1, column, 0, comm);
    MPI_Type_free(&column);
    MPI_Type_free(&triangle);
}

HERE communicators(void)
{
    MPI_Comm twin, half, pair;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_name(twin, "twin");
    collectives(twin);
    MPI_Comm_split(twin, rank % 2, -rank, &half);
    collectives(half);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
    if (pair != MPI_COMM_NULL) {
        MPI_Barrier(pair);
        MPI_Comm_free(&pair);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;
    for (int i = 0; i < steps; i++) {
        MPI_Pcontrol(10 + i % 2);
        marple_region_begin("exchange");
        point_to_point(MPI_COMM_WORLD, i);
        marple_region_begin("overlapped");
        non_blocking(MPI_COMM_WORLD);
        persistent(MPI_COMM_WORLD, i);
        marple_region_end("overlapped");
        marple_region_end("exchange");
        marple_region_begin("together");
        work_ns(200000);
        collectives(MPI_COMM_WORLD);
        derived_types(MPI_COMM_WORLD);
        marple_region_end("together");
        MPI_Pcontrol(0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
    }
    communicators();
    if (rank == 0)
        printf("%d steps on %d ranks\n", steps, ranks);
    MPI_Finalize();
    return 0;
}
