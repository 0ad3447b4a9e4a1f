/*
 * Calls MPI from where there is much of something:
 *
 *     deep recursion     below 60,000 calls
 *     deep threads       in 16 threads at once, under MPI_THREAD_MULTIPLE
 *     deep spawn         beside two processes that MPI_Comm_spawn has started, which count nothing
 */
#include "counted.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

enum { CALLS = 200, THREADS = 16, DEPTH = 60000 };

static void send(MPI_Comm comm, int tag)
{
    int in, out = tag;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, tag, &in, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) int descend(int depth)
{
    volatile int below = depth;
    if (depth == 0)
        for (int i = 0; i < CALLS; i++)
            send(MPI_COMM_SELF, i);
    else
        below += descend(depth - 1);
    return below;
}

static void *below(void *result)
{
    *(int *)result = descend(DEPTH);
    return NULL;
}

static void *in_thread(void *tag)
{
    for (int i = 0; i < CALLS; i++)
        send(MPI_COMM_SELF, (int)(size_t)tag);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, sum = 0;
    MPI_Comm parent, children;
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(argv[1], "recursion")) {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64u << 20); /* whatever the limit is */
        pthread_create(&threads[0], &attributes, below, &sum);
        pthread_join(threads[0], NULL);
        counted("MPI_Sendrecv", CALLS);
        printf("says %d\n", sum != 0);
    } else if (!strcmp(argv[1], "threads")) {
        int many = provided == MPI_THREAD_MULTIPLE ? THREADS : 1;
        for (int i = 0; i < many; i++)
            pthread_create(&threads[i], NULL, in_thread, (void *)(size_t)i);
        for (int i = 0; i < many; i++)
            pthread_join(threads[i], NULL);
        counted("MPI_Sendrecv", (long)many * CALLS);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
        for (int i = 0; i < CALLS; i++)
            send(MPI_COMM_SELF, i);
        MPI_Barrier(children);
        counted("MPI_Sendrecv", CALLS);
        counted("MPI_Comm_spawn", 1);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
