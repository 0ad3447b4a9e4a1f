/* MPI_Init, and then nothing. */
#include <mpi.h>
#include <stddef.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    return MPI_Finalize();
}
