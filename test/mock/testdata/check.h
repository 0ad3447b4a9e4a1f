/* What the test programs of the mock share. A program is right if it exits with
 * code 0; the first check that fails ends the whole job. */
#ifndef CHECK_H
#define CHECK_H

#include <mock.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, rank, size, \
                    #condition);                                                      \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define CHECK_EQUAL(got, want)                                                        \
    do {                                                                              \
        long long got_ = (long long)(got), want_ = (long long)(want);                 \
        if (got_ != want_) {                                                          \
            fprintf(stderr, "%s:%d: rank %d of %d: %s is %lld, not %lld\n", __FILE__,  \
                    __LINE__, rank, size, #got, got_, want_);                         \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static inline void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

#endif
