/* A thread computes beside the one that calls MPI; the program says for how long, by its own account. */
#include "host.h"

#include <pthread.h>
#include <time.h>

static _Atomic int stop;

static void *compute(void *spent)
{
    volatile double x = 0;
    while (!stop)
        x += 1;
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    *(double *)spent = t.tv_sec + t.tv_nsec / 1e9;
    return NULL;
}

static void beside(void)
{
    double spent = 0;
    pthread_t thread;
    MPI_Init(NULL, NULL);
    pthread_create(&thread, NULL, compute, &spent);
    steps(MANY);
    struct timespec t = {.tv_nsec = 300000000};
    nanosleep(&t, NULL);
    stop = 1;
    pthread_join(thread, NULL);
    MPI_Finalize();
    printf("others %.6f\n", spent);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"beside", beside}, {NULL, NULL}};
    return choose(modes, argc, argv);
}
