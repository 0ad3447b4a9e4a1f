/*
 * A thread computes beside the one that calls MPI; the program says for how long, by its own account, and how long all
 * threads but the main one have computed in all. The first rank has 64 MiB more in memory than the others, for a while.
 */
#include "host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD = 64 << 20 };

static _Atomic int stop;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void *compute(void *spent)
{
    volatile double x = 0;
    while (!stop)
        x += 1;
    *(double *)spent = seconds(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void beside(void)
{
    double spent = 0;
    pthread_t thread;
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        char *held = memset(malloc(HELD), 1, HELD);
        MPI_Get_library_version(held, &(int){0}); /* so that it is needed */
        free(held);
    }
    pthread_create(&thread, NULL, compute, &spent);
    steps(MANY);
    struct timespec t = {.tv_nsec = 300000000};
    nanosleep(&t, NULL);
    stop = 1;
    pthread_join(thread, NULL);
    MPI_Finalize();
    double own = seconds(CLOCK_THREAD_CPUTIME_ID); /* before all others' is read: it may only seem less */
    printf("others %.6f of %.6f\n", spent, seconds(CLOCK_PROCESS_CPUTIME_ID) - own);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"beside", beside}, {NULL, NULL}};
    return choose(modes, argc, argv);
}
