/* What preload.c watches. Most of these calls are built on others inside of the
 * library, of which a tool must see nothing. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int x = 1, y;
    MPI_Comm c;
    for (int i = 0; i < 3; i++)
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_free(&c);
    MPI_Finalize();
    return 0;
}
