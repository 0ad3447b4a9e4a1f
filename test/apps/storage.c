/*
 * Known input and output. storage DIR CASE: what ranks write, read and ask for is in `main`; results are checked, so that
 * whoever stands between must have changed nothing.
 */
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;
static const char *place;
static char block[1 << 20];

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "storage: %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 9);
}
#define MUST(x) must((x) != 0, #x)

static char *path(const char *format, ...)
{
    static char out[4096];
    va_list more;
    va_start(more, format);
    int n = snprintf(out, sizeof out, "%s/", place);
    vsnprintf(out + n, sizeof out - (size_t)n, format, more);
    va_end(more);
    return out;
}

/* Rank 0 writes 3 MiB in three calls and reads 1 MiB of it; everybody reads nothing of its own. */
static void totals(void)
{
    if (rank == 0) {
        int fd = open(path("totals"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        MUST(fd >= 0);
        for (int i = 0; i < 3; i++)
            MUST(write(fd, block, sizeof block) == sizeof block);
        MUST(pread(fd, block, sizeof block, 0) == sizeof block);
        MUST(close(fd) == 0);
    }
}

/* Rank 1 holds a lot. */
static void memory(void)
{
    if (rank == 1) {
        char *much = malloc(400u << 20);
        MUST(much);
        memset(much, 1, 400u << 20);
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(*(volatile char *)(much + (200u << 20)) == 1);
        free(much);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"totals", totals}, {"memory", memory}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MUST(argc > 2);
    place = argv[1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[2]) == 0)
            cases[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
