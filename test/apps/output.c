/* Steps with output. output DIR HOW: serial (rank 0 writes for all), shared (each writes its part), little (rank 0 writes a line),
 * small (each writes its part in pieces of 16 bytes), storm (each opens files again and again). */
#include "work.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 50, PART = 1 << 20 };
static char part[PART];
static int rank, ranks;

static void put(int fd, size_t size, int times)
{
    for (int i = 0; i < times; i++)
        if (write(fd, part, size) != (ssize_t)size)
            MPI_Abort(MPI_COMM_WORLD, 9);
}

static void output(const char *how, int fd, const char *name)
{
    if (strcmp(how, "serial") == 0 && rank == 0)
        put(fd, PART, ranks);
    if (strcmp(how, "shared") == 0)
        put(fd, PART, 1);
    if (strcmp(how, "little") == 0 && rank == 0)
        put(fd, 80, 1);
    if (strcmp(how, "small") == 0)
        put(fd, 16, 400);
    for (int i = 0; strcmp(how, "storm") == 0 && i < 40; i++)
        close(open(name, O_RDONLY | O_NOFOLLOW));
}

int main(int argc, char **argv)
{
    char name[4096];
    double x = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(name, sizeof name, "%s/out-%d", argv[1], rank);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int step = 0; step < STEPS; step++) {
        work_ns(10000000);
        output(argv[2], fd, name);
        MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    close(fd);
    MPI_Finalize();
    return 0;
}
