/*
 * Nanoseconds per MPI_Iprobe at the end of a chain of calls: thread CPU time, the best of several rounds.
 *
 *     paths DEPTH hit|wrap|miss [ROUNDS [CALLS-PER-ROUND]]
 *
 * hit calls from one place of the stack all the time, wrap through a function that is called from 16 places in turn, miss from
 * another place of the stack each time, so that nothing that was remembered of an earlier call holds. The number of functions above MPI_Iprobe is DEPTH, main included.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int rounds = 15, calls = 50000;
static int miss, wrap;
static double best = 1e30;

static __attribute__((noinline)) void call(void)
{
    int flag;
    MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* Many different stack pointers in turn, more than anybody remembers. */
static __attribute__((noinline)) void shifted(int i)
{
    volatile char *room = alloca((size_t)(16 + 16 * (i & 4095)));
    room[0] = 0;
    call();
}

#define CALL call(); __asm__ volatile("");
static __attribute__((noinline)) void sixteen(void)
{
    CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL
}

static __attribute__((noinline)) void measure(void)
{
    for (int r = 0; r < rounds; r++) {
        double start = now();
        if (miss)
            for (int i = 0; i < calls; i++)
                shifted(i);
        else if (wrap)
            for (int i = 0; i < calls; i += 16)
                sixteen();
        else
            for (int i = 0; i < calls; i++)
                call();
        double ns = (now() - start) / calls;
        best = ns < best ? ns : best;
    }
}

static void down(int depth);

#define LEVEL(n)                                             \
    static __attribute__((noinline)) void level##n(int depth) \
    {                                                        \
        down(depth - 1);                                     \
        __asm__ volatile("");                                \
    }
LEVEL(0) LEVEL(1) LEVEL(2) LEVEL(3) LEVEL(4) LEVEL(5) LEVEL(6) LEVEL(7)

/* Inlined into each level, so that every step is one frame. */
static inline __attribute__((always_inline)) void down(int depth)
{
    static void (*const levels[])(int) = {level0, level1, level2, level3, level4, level5, level6, level7};
    if (depth <= 0)
        measure();
    else
        levels[depth % 8](depth);
}

int main(int argc, char **argv)
{
    cpu_set_t one;
    int depth = argc > 1 ? atoi(argv[1]) : 8;
    miss = argc > 2 && strcmp(argv[2], "miss") == 0;
    wrap = argc > 2 && strcmp(argv[2], "wrap") == 0;
    rounds = argc > 3 ? atoi(argv[3]) : rounds;
    calls = argc > 4 ? atoi(argv[4]) : calls;
    MPI_Init(&argc, &argv);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    down(depth - 3 - miss - wrap); /* main, measure, call, and shifted or sixteen count too */
    printf("%.2f\n", best);
    MPI_Finalize();
    return 0;
}
