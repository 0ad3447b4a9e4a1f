/* Rank 0 is done; the others wait for a message that nobody sends. */
#include <mpi.h>
#include <stddef.h>

int main(void)
{
    int rank, never;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank)
        MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
