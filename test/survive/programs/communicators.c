/* More communicators than there is room for; kept, or freed at once, so that their handles come again. */
#include "counted.h"

#include <string.h>

enum { MADE = 5000 };

int main(int argc, char **argv)
{
    static MPI_Comm made[MADE];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < MADE; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &made[i]);
        MPI_Barrier(made[i]);
        if (strcmp(argv[1], "freed") == 0)
            MPI_Comm_free(&made[i]);
    }
    for (int i = 0; i < MADE; i++)
        if (made[i] != MPI_COMM_NULL)
            MPI_Barrier(made[i]);
    counted("MPI_Comm_dup", MADE);
    MPI_Finalize();
    return 0;
}
