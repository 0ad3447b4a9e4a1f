/*
 * Rank 0 is done; the others wait for a message that nobody sends.
 *
 *     deadlock circle     each rank waits for a message of the next one, on a communicator of ranks in reverse
 *     deadlock barrier    rank 0 waits for a message of rank 1, the others are in a barrier
 *     deadlock unrecorded likewise, and rank 2 has not wanted its calls recorded before
 *     deadlock exchange   nothing is wrong, but it never ends: ranks exchange messages
 */
#include <mpi.h>
#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, ranks, never = 0, got;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Comm reverse;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reverse);
    if (strcmp(how, "circle") == 0)
        MPI_Recv(&never, 1, MPI_INT, (2 * ranks - 2 - rank) % ranks, 0, reverse, MPI_STATUS_IGNORE);
    if (strcmp(how, "barrier") == 0 || strcmp(how, "unrecorded") == 0) {
        MPI_Pcontrol(rank < 2 || *how == 'b');
        for (int i = 0; i < 5; i++)
            MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        if (rank == 0)
            MPI_Recv(&never, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    while (strcmp(how, "exchange") == 0)
        MPI_Sendrecv(&never, 1, MPI_INT, (rank + 1) % ranks, 0, &got, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank)
        MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
