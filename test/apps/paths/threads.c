/*
 * Threads: paths begin with the function that a thread was started with; see plain.c for what the lines
 * "path:" mean.
 *
 *     path: main@main > exchange@probe > MPI_Iprobe x 50
 *     path: other threads > worker@worker > exchange@probe > MPI_Iprobe x 200
 */
#include <mpi.h>
#include <pthread.h>

#define STAY __asm__ volatile("" : : : "memory")

static __attribute__((noipa)) void exchange(void)
{
    int flag;
    MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); /* @probe */
    STAY;
}

static void *worker(void *data)
{
    for (int i = 0; i < 50; i++)
        exchange(); /* @worker */
    return data;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 50; i++)
        exchange(); /* @main */
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 2; i < 4; i++) {
        pthread_create(&threads[i], NULL, worker, NULL);
        pthread_join(threads[i], NULL);
    }
    MPI_Finalize();
    return 0;
}
