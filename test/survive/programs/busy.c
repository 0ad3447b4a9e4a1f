/* MPI_Abort while other threads compute, more than there are cores. */
#include "counted.h"

#include <pthread.h>

static void *compute(void *unused)
{
    for (volatile double x = 1;; x = x * 1.0000001 + 1e-9)
        ;
    return unused;
}

int main(int argc, char **argv)
{
    int provided, flag;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    for (int i = 0; i < 8; i++)
        pthread_create(&thread, NULL, compute, NULL);
    for (int i = 0; i < 100; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    counted("MPI_Iprobe", 100);
    MPI_Abort(MPI_COMM_WORLD, 5);
    return 0;
}
