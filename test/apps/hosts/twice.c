/* MPI_Init by mistake twice, and MPI_Finalize too: errors that the program is told of. */
#include "host.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    steps(MANY);
    int again = MPI_Init(&argc, &argv);
    printf("again: %s\n", again ? "an error" : "fine");
    fflush(stdout);
    steps(MANY);
    MPI_Finalize();
    return verdict();
}
