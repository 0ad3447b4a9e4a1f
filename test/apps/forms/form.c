/*
 * One program in five forms: this one, mpif.h, use mpi, mpi_f08 and mpi4py. All make the same calls with the
 * same arguments on any even number of ranks, so that a tool must see the same whatever the binding.
 */
#include <mpi.h>

#define N 100

int main(int argc, char **argv)
{
    int rank, ranks, value, flag = 0, index, counts[64], displacements[64];
    double a[N], b[N], all[64 * N];
    MPI_Request r[4], p[2];
    MPI_Status status, statuses[4];
    MPI_Comm half, copy;
    MPI_Datatype column;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int i = 0; i < N; i++)
        a[i] = rank;
    for (int i = 0; i < ranks; i++) {
        counts[i] = 10 + i;
        displacements[i] = i * N;
    }

    /* Blocking, with a wildcard that the real source must be told of; even ranks first. */
    if (rank % 2 == 0) {
        MPI_Send(a, N, MPI_DOUBLE, right, 5, MPI_COMM_WORLD);
        MPI_Recv(b, N, MPI_DOUBLE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
    } else {
        MPI_Recv(b, N, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ssend(a, N, MPI_DOUBLE, right, 5, MPI_COMM_WORLD);
    }
    /* Non-blocking, completed together. */
    MPI_Irecv(b, N, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(all, 20, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(a, 50, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(a, 20, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    /* Completed one by one. */
    MPI_Irecv(b, N, MPI_DOUBLE, left, 8, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(all, N, MPI_DOUBLE, right, 9, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(a, 1, MPI_DOUBLE, right, 8, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(a, 2, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, &r[3]);
    MPI_Waitany(2, r + 2, &index, &status);
    MPI_Waitany(2, r + 2, &index, MPI_STATUS_IGNORE);
    MPI_Waitall(4, r, statuses);
    /* To and from nobody. */
    MPI_Sendrecv(a, 3, MPI_DOUBLE, MPI_PROC_NULL, 1, b, 3, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(a, 30, MPI_DOUBLE, left, 1, b, N, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &status);
    /* Persistent. */
    MPI_Send_init(a, 4, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &p[0]);
    MPI_Recv_init(b, 4, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &p[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, p);
        MPI_Waitall(2, p, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&p[0]);
    MPI_Request_free(&p[1]);
    /* Probed. */
    MPI_Isend(a, 11, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    MPI_Recv(b, 11, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    /* Collectives, with results in place. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(a, N, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Reduce(a, b, 25, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(a, b, N, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, a, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(a, 5, MPI_DOUBLE, all, 5, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 5, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Gatherv(a, 10 + rank, MPI_DOUBLE, all, counts, displacements, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Alltoall(all, 2, MPI_DOUBLE, all + 32 * N, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    /* Communicators; the second is gone before the third is made. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Allreduce(a, b, 3, MPI_DOUBLE, MPI_SUM, half);
    MPI_Comm_dup(half, &copy);
    MPI_Bcast(a, 9, MPI_DOUBLE, 0, copy);
    MPI_Comm_free(&copy);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Sendrecv(a, 6, MPI_DOUBLE, right, 4, b, 6, MPI_DOUBLE, left, 4, copy, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    /* A derived type: every second of twenty. */
    MPI_Type_vector(10, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(a, 2, column, right, 10, b, 20, MPI_DOUBLE, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
    value = flag;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
