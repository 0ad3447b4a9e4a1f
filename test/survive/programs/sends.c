/* Messages round a ring. */
#include "counted.h"

enum { STEPS = 5000 };

int main(int argc, char **argv)
{
    int rank, ranks, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < STEPS; i++) {
        MPI_Request request;
        MPI_Irecv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &request);
        MPI_Send(&i, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    counted("MPI_Irecv", STEPS);
    counted("MPI_Send", STEPS);
    counted("MPI_Wait", STEPS);
    MPI_Finalize();
    return 0;
}
