/*
 * Times itself, on the clock it runs by: from before MPI_Init to after MPI_Finalize, and from after the one to
 * before the other. What lies between Init and Finalize for Marple lies between the two.
 */
#include "work.h"

#include <mpi.h>
#include <stdio.h>

static uint64_t now(void)
{
    struct timespec t;
    if (mock_now)
        return mock_now();
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void)
{
    int rank;
    uint64_t from[2], to[2];
    from[0] = now();
    MPI_Init(NULL, NULL);
    from[1] = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    work_ns(3000000u * (uint64_t)(rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    work_ns(2000000);
    to[1] = now();
    MPI_Finalize();
    to[0] = now();
    printf("%d %llu %llu\n", rank, (unsigned long long)(to[1] - from[1]), (unsigned long long)(to[0] - from[0]));
    return 0;
}
