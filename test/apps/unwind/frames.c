#include "frames.h"

#include <alloca.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(x) JOIN(x, STYLE)

/* Keeps values alive and addresses taken, so that nothing is optimised away. */
static void touch(volatile void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static __attribute__((noinline)) uint64_t plain(uint64_t *random, int depth)
{
    return 1 + next(random, depth);
}

static __attribute__((noinline)) uint64_t tail(uint64_t *random, int depth)
{
    return next(random, depth);
}

static __attribute__((noinline)) uint64_t variable(uint64_t *random, int depth)
{
    char *room = alloca(draw(random) % 500 + 1);
    touch(room);
    uint64_t sum = next(random, depth);
    char *more = alloca(draw(random) % 100 + 1);
    touch(more);
    return sum + next(random, depth > 2 ? 0 : depth);
}

static __attribute__((noinline)) uint64_t array(uint64_t *random, int depth)
{
    uint64_t n = draw(random) % 50 + 1, list[n];
    memset(list, 0, n * sizeof *list);
    touch(list);
    return list[n - 1] + next(random, depth);
}

static __attribute__((noinline)) uint64_t aligned(uint64_t *random, int depth)
{
    struct {
        char c[64];
    } __attribute__((aligned(64))) block;
    memset(&block, 0, sizeof block);
    touch(&block);
    return (uint64_t)block.c[5] + next(random, depth);
}

static __attribute__((noinline)) uint64_t aligned_variable(uint64_t *random, int depth)
{
    __attribute__((aligned(128))) char block[128];
    char *room = alloca(draw(random) % 300 + 1);
    memset(block, 0, sizeof block);
    touch(room);
    touch(block);
    return (uint64_t)block[7] + next(random, depth) + (uint64_t)(room == 0);
}

static __attribute__((noinline)) uint64_t many(uint64_t *random, int depth)
{
    uint64_t a = draw(random), b = draw(random), c = draw(random), d = draw(random), e = draw(random), f = draw(random);
    uint64_t sum = next(random, depth);
    return sum + ((a ^ b) & 1) + ((c ^ d) & 1) + ((e ^ f) & 1) + (a + b + c + d + e + f == 42);
}

static __attribute__((noinline)) uint64_t large(uint64_t *random, int depth)
{
    char block[9000];
    memset(block, (int)draw(random), sizeof block);
    touch(block);
    return next(random, depth) + (uint64_t)(block[8999] == 3);
}

static __attribute__((noinline)) uint64_t variadic(uint64_t *random, ...)
{
    va_list list;
    va_start(list, random);
    int depth = va_arg(list, int);
    double x = va_arg(list, double);
    va_end(list);
    return next(random, depth) + (x > 3);
}

static __attribute__((noinline)) uint64_t calls_variadic(uint64_t *random, int depth)
{
    return variadic(random, depth, 2.5) + 1;
}

static __thread uint64_t *sort_random;
static __thread int sort_depth;

static int compare(const void *a, const void *b)
{
    int depth = sort_depth;
    sort_depth = 0;
    (void)a;
    (void)b;
    if (depth)
        next(sort_random, depth);
    return 0;
}

/* Through the C library. */
static __attribute__((noinline)) uint64_t sorting(uint64_t *random, int depth)
{
    int list[3] = {2, 1, 3};
    sort_random = random;
    sort_depth = depth;
    qsort(list, 3, sizeof *list, compare);
    return (uint64_t)list[0];
}

#ifndef __clang__
/* A function inside another one, which is called with a pointer to the outer frame. */
static __attribute__((noinline)) uint64_t nested(uint64_t *random, int depth)
{
    __attribute__((aligned(32))) char block[32] = "";
    uint64_t extra = draw(random) & 3;
    __attribute__((noinline)) uint64_t inner(int d)
    {
        touch(block);
        return extra + next(random, d);
    }
    return inner(depth) + inner(depth > 2 ? 0 : depth);
}
#else
#define nested plain
#endif

static __thread volatile int handler_depth __attribute__((unused));
static __thread uint64_t *handler_random __attribute__((unused));

static __attribute__((unused)) void handler(int signal)
{
    (void)signal;
    int depth = handler_depth;
    handler_depth = 0;
    if (depth)
        next(handler_random, depth);
}

/* Through a signal's trampoline, where there are tables for it. */
#ifndef __aarch64__
static __attribute__((noinline)) uint64_t signalled(uint64_t *random, int depth)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER}, old;
    handler_random = random;
    handler_depth = depth;
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
    return 1;
}
#else
#define signalled plain
#endif

step_function *const NAME(steps)[KINDS] = {plain, tail, variable, array, aligned, aligned_variable, many, large, calls_variadic, sorting, nested, signalled};
