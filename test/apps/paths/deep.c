/* Recursion to a depth given, for the bounds of a path's length. */
#include <mpi.h>
#include <stdlib.h>

static __attribute__((noipa)) void again(int depth)
{
    if (depth > 0)
        again(depth - 1);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    __asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 1; i < argc; i++)
        again(atoi(argv[i]) - 2); /* with main that many functions */
    MPI_Finalize();
    return 0;
}
