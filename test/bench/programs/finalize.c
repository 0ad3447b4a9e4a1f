/*
 * What the end of a run costs: a few steps of neighbour exchange, then MPI_Finalize, timed; and the private
 * memory of the process before and after it, but for Marple's mapped record file. Every rank prints
 *
 *     finalize SECONDS before KIB after KIB
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Pages that exist for this process alone, in KiB: not those of files, which others may map too. */
static long private_memory(void)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    long total = 0, kib;
    int ours = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        if (strchr(line, '-') && strchr(line, ':') && !strstr(line, " kB"))
            ours = strstr(line, "/raw/rank-") != NULL;
        else if (!ours && sscanf(line, "Private_Dirty: %ld", &kib) == 1)
            total += kib;
    }
    if (maps)
        fclose(maps);
    return total;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int rank, ranks, steps = argc > 1 ? atoi(argv[1]) : 100;
    double out[16] = {0}, in[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < steps; i++) {
        MPI_Sendrecv(out, 16, MPI_DOUBLE, (rank + 1) % ranks, 0, in, 16, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long before = private_memory();
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    MPI_Finalize();
    double seconds = now() - start;
    printf("finalize %.6f before %ld after %ld\n", seconds, before, private_memory());
    return 0;
}
