/* Twice as many messages as the argument says, first each taken at once, then all
 * in flight. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int n = atoi(argv[1]), *in = malloc((size_t)n * sizeof *in);
    MPI_Request *requests = malloc((size_t)n * sizeof *requests);
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&in[0], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(rank == 0 || in[0] == i);
    }
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Isend(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(&in[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK(rank == 0 || in[i] == i);
    free(in);
    free(requests);
    MPI_Finalize();
    return 0;
}
