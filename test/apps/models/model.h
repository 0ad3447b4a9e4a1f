/*
 * What the programs of this directory share. Each embodies one computational model; its first argument names an
 * ailment, or "healthy":
 *
 *     PROGRAM AILMENT [SIZE [LENGTH]]
 *
 * With an ailment it does the same work in a worse way. It prints the time that the work alone takes: what is
 * beyond that is what the ailment costs. SIZE multiplies the number of steps, LENGTH the work of each.
 */
#ifndef MODEL_H
#define MODEL_H

#include "../work.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000ull
#define MS 1000000ull
#define NOINLINE __attribute__((noinline))

static int rank, ranks, size = 1;
static uint64_t length = 1;
static const char *ailment = "healthy";

static inline int ails(const char *name)
{
    return strcmp(ailment, name) == 0;
}

/* Starts MPI and reads the arguments; ailments are the known names, NULL at the end. */
static inline void begin(int argc, char **argv, const char *const *ailments)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1)
        ailment = argv[1];
    if (argc > 2)
        size = atoi(argv[2]);
    if (argc > 3)
        length = strtoull(argv[3], NULL, 10);
    int known = 0;
    for (const char *const *a = ailments; *a; a++)
        known |= ails(*a);
    if (!known || size < 1 || length < 1) {
        if (rank == 0) {
            fprintf(stderr, "usage: %s AILMENT [SIZE [LENGTH]]; ailments:", argv[0]);
            for (const char *const *a = ailments; *a; a++)
                fprintf(stderr, " %s", *a);
            fprintf(stderr, "\n");
        }
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static inline void work_for(uint64_t ns)
{
    work_ns(ns * length);
}

/* Of work that takes ns on each rank if it is divided equally: this rank's, if one rank has twice that of the others. */
static inline uint64_t uneven(uint64_t ns, int most)
{
    uint64_t parts = (uint64_t)ranks + 1;
    return (rank == most ? 2 : 1) * ns * (uint64_t)ranks / parts;
}

/* Ends the program, together, and tells how long it would have taken if ranks had worked all the time, and equally. */
static inline int finish(uint64_t ideal)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("ideal %llu ns\n", (unsigned long long)(ideal * length));
    MPI_Finalize();
    return 0;
}

#endif
