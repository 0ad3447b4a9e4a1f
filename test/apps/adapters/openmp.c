/*
 * Parallel regions of OpenMP between MPI calls: one that is uneven on purpose, one with tasks in its barrier, one inside another,
 * and a lock.
 *
 *     openmp [UNEVEN]   how many times as much the first thread does
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double sink[64];

__attribute__((noinline)) static double work(long n)
{
    double sum = 0;
    for (long i = 1; i < n; i++)
        sum += 1.0 / (double)i;
    return sum;
}

__attribute__((noinline)) static void uneven(int times)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        sink[me] += work(me ? 300000 : 300000L * times);
#pragma omp barrier
        sink[me] += work(1000);
    }
}

__attribute__((noinline)) static void tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 16; i++)
#pragma omp task
        sink[omp_get_thread_num()] += work(100000);
}

__attribute__((noinline)) static void nested(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        sink[omp_get_thread_num()] = work(1000);
#pragma omp critical
        sink[3] += work(1000);
    }
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1, rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    omp_set_max_active_levels(2);
    for (int i = 0; i < 20; i++) {
        uneven(times);
        tasks();
        nested();
        MPI_Allreduce(MPI_IN_PLACE, (void *)&sink[8], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("threads 2, sum %d\n", (int)(sink[1] > 0));
    MPI_Finalize();
    return 3;
}
