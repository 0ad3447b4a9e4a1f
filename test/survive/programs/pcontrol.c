/* Phases that another tool listens to, with arguments that only the two know. */
#include "counted.h"

int main(int argc, char **argv)
{
    int flag;
    MPI_Init(&argc, &argv);
    int rc = MPI_Pcontrol(2, "a text", 2.5, 7);
    for (int i = 0; i < 100; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    rc |= MPI_Pcontrol(1);
    printf("says %d\n", rc);
    counted("MPI_Iprobe", 100);
    MPI_Finalize();
    return 0;
}
