/*
 * Makes Marple's core fail: fails DIRECTORY RANK. This rank's record file of the run there is cut off behind the ring of its first
 * thread, so that what the core writes behind it is a fault.
 */
#include "counted.h"

#include "layout.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    enum { CALLS = 20000 };
    char path[4096];
    int flag, rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/raw/rank-%06d.mrl", argv[1], atoi(argv[2]));
    if (rank == atoi(argv[2]) && access(path, R_OK) == 0 && truncate(path, MRL_THREADS_AT + MRL_ENTRIES_AT))
        perror(path);
    for (int i = 0; i < CALLS; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    printf("says done\n");
    MPI_Finalize();
    return ranks > 1 ? 0 : 3; // MPICH's launcher loses what ranks have said last when one of several returns anything else
}
