/*
 * A program of this table counts the calls that it makes, and prints what it counted, one line each:
 *
 *     count MPI_Send 50000
 *
 * The harness adds the lines up over ranks and compares them with what Marple has merged.
 */
#ifndef COUNTED_H
#define COUNTED_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static inline void counted(const char *function, long calls)
{
    printf("count %s %ld\n", function, calls);
    fflush(stdout);
}

#endif
