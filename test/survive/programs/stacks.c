/*
 * MPI_Finalize where there is little stack, or none that the C library knows of:
 *
 *     stacks fiber | thread | main      (the last under a small ulimit -s)
 */
#include "counted.h"

#include <pthread.h>
#include <string.h>
#include <ucontext.h>

enum { CALLS = 50000 };

static void work(void)
{
    int flag;
    for (int i = 0; i < CALLS; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    counted("MPI_Iprobe", CALLS);
    MPI_Finalize();
}

static ucontext_t before;

static void *in_thread(void *unused)
{
    work();
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    const char *where = argc > 1 ? argv[1] : "main";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (!strcmp(where, "fiber")) {
        ucontext_t fiber;
        getcontext(&fiber);
        fiber.uc_stack.ss_size = 1 << 20;
        fiber.uc_stack.ss_sp = malloc(1 << 20);
        fiber.uc_link = &before;
        makecontext(&fiber, work, 0);
        swapcontext(&before, &fiber);
        free(fiber.uc_stack.ss_sp);
    } else if (!strcmp(where, "thread")) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64 << 10);
        if (pthread_create(&thread, &attributes, in_thread, NULL))
            return 1;
        pthread_join(thread, NULL);
    } else {
        work();
    }
    return 0;
}
