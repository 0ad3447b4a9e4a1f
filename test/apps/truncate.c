/*
 * Messages longer than the room for them, which have arrived all the same: rank 0 sends a long one at once, and after
 * MS milliseconds a short one, with the same tag; rank 1 receives both in room for a short one.
 *
 *     truncate MS [any]       with wildcards
 */
#include "work.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, got[2] = {0, 0}, numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, class = MPI_SUCCESS;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    uint64_t late = strtoull(argv[1], NULL, 10) * 1000000u;
    int from = argc > 2 ? MPI_ANY_SOURCE : 0, tag = argc > 2 ? MPI_ANY_TAG : 5;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        if (rank == 0) {
            MPI_Send(numbers, 8, MPI_INT, 1, 5, MPI_COMM_WORLD);
            work_ns(late);
            MPI_Sendrecv(numbers, 1, MPI_INT, 1, 5, got, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Error_class(MPI_Recv(got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
            MPI_Recv(got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
            MPI_Send(numbers, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
        }
    }
    if (rank == 1)
        printf("%s\n", class == MPI_ERR_TRUNCATE ? "truncated" : "not truncated");
    MPI_Finalize();
    return 0;
}
