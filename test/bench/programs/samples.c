/* CPU time of a fixed piece of work between two MPI calls, some functions deep: what samples add to it, in ns. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) double work(int depth, long rounds)
{
    double x = 1;
    if (depth > 0)
        return work(depth - 1, rounds) + depth;
    for (long i = 0; i < rounds; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    work(0, 1000000);
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t begin = cpu_ns();
    double x = work(atoi(argv[1]), atol(argv[2]));
    uint64_t end = cpu_ns();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("%llu\n", (unsigned long long)(end - begin));
    return x < 0;
}
