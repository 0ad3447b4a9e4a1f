/* In real time several threads may be in MPI at once, blocked or not. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 200 };

static void *chat(void *argument)
{
    int tag = (int)(intptr_t)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        int in = -1, big[3000] = {i};
        MPI_Request r;
        MPI_Irecv(&in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &r);
        MPI_Send(&i, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK_EQUAL(in, i);
        MPI_Sendrecv_replace(big, 3000, MPI_INT, right, tag, left, tag, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        CHECK_EQUAL(big[0], i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int level;
    MPI_Query_thread(&level);
    CHECK_EQUAL(level, provided);
    if (argc > 1) {
        CHECK_EQUAL(provided, MPI_THREAD_SERIALIZED);
    } else {
        CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
        pthread_t threads[THREADS];
        for (intptr_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, chat, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    MPI_Finalize();
    return 0;
}
