/*
 * Threads and fibers with little stack, which make MPI calls.
 *
 *     stacks MODE
 */
#define _GNU_SOURCE
#include "host.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static int times; /* that each thread or fiber makes a step */

static void *work(void *unused)
{
    steps(times);
    return unused;
}

/* Leaves MPI not much more than it needs itself. */
static void *work_with_own_data(void *unused)
{
    volatile char data[4096];
    data[0] = data[sizeof data - 1] = 1;
    steps(times);
    return data[0] ? unused : NULL;
}

/* Threads with this much stack, as many at once, one after the other. */
static void run_threads(size_t size, void *(*run)(void *), int at_once, int rounds)
{
    pthread_attr_t attributes;
    pthread_t threads[16];
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    expect(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
    steps(1); /* what the MPI library does at its first message may need more */
    pthread_attr_init(&attributes);
    expect(!pthread_attr_setstacksize(&attributes, size), "a stack of %zu bytes", size);
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < at_once; i++)
            expect(!pthread_create(&threads[i], &attributes, run, NULL), "pthread_create");
        for (int i = 0; i < at_once; i++)
            pthread_join(threads[i], NULL);
    }
    MPI_Finalize();
}

static void least(void)
{
    times = MANY;
    run_threads((size_t)sysconf(_SC_THREAD_STACK_MIN), work, 4, 2);
}

static void tiny(void)
{
    times = MANY;
    run_threads(16384, work_with_own_data, 4, 2);
}

/* Threads without end: their buffers go from one to the next. */
static void many(void)
{
    times = 5;
    run_threads(32768, work, 8, 200);
}

/* Contexts that the application switches between itself, on stacks that the thread library knows nothing of. */
static void step(void)
{
    steps(MANY);
}

static void fiber(void)
{
    static ucontext_t home, away;
    const size_t size = 16384;
    MPI_Init(NULL, NULL);
    steps(1);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *stack = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, page, PROT_NONE);
    getcontext(&away);
    away.uc_stack.ss_sp = stack + page;
    away.uc_stack.ss_size = size;
    away.uc_link = &home;
    makecontext(&away, step, 0);
    swapcontext(&home, &away);
    steps(MANY);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"least", least}, {"tiny", tiny}, {"many", many}, {"fiber", fiber}, {NULL, NULL},
    };
    return choose(modes, argc, argv);
}
