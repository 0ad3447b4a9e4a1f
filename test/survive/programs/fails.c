/*
 * Makes Marple's core fail: fails DIRECTORY. The record file of the run there is cut off behind the ring of the first thread, so
 * that what the core writes behind it is a fault.
 */
#include "counted.h"

#include "layout.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    enum { CALLS = 20000 };
    char path[4096];
    int flag;
    MPI_Init(&argc, &argv);
    snprintf(path, sizeof path, "%s/raw/rank-000000.mrl", argv[1]);
    if (access(path, R_OK) == 0 && truncate(path, MRL_THREADS_AT + MRL_ENTRIES_AT))
        perror(path);
    for (int i = 0; i < CALLS; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    printf("says done\n");
    MPI_Finalize();
    return 3;
}
