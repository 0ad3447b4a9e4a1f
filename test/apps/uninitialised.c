/* Is linked with an MPI library, and does not use it: Marple leaves it alone. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc > 1)
        MPI_Init(&argc, &argv);
    puts("no MPI here");
    return 3;
}
