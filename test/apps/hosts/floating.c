/*
 * The application's floating-point environment: traps, flags, rounding, denormals.
 *
 *     floating MODE
 */
#define _GNU_SOURCE
#include "host.h"

#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/* Everything there is, in the processor's own words. */
struct environment {
    uint32_t sse;
    uint16_t x87_control, x87_status;
};

static struct environment environment(void)
{
    struct environment e = {0, 0, 0};
#if defined(__x86_64__)
    __asm__ volatile("stmxcsr %0" : "=m"(e.sse));
    __asm__ volatile("fnstcw %0" : "=m"(e.x87_control));
    __asm__ volatile("fnstsw %0" : "=m"(e.x87_status));
#else
    e.x87_control = (uint16_t)fegetround();
    e.x87_status = (uint16_t)fetestexcept(FE_ALL_EXCEPT);
    e.sse = (uint32_t)fegetexcept();
#endif
    return e;
}

/* MPICH's own MPI_Finalize rounds. */
static void expect_environment(struct environment before, int finalized)
{
    struct environment now = environment();
    if (finalized) {
        now.sse |= FE_INEXACT;
        before.sse |= FE_INEXACT;
    }
    expect(now.sse == before.sse && now.x87_control == before.x87_control && now.x87_status == before.x87_status,
           "the floating-point environment is %x %x %x, was %x %x %x", now.sse, now.x87_control, now.x87_status, before.sse,
           before.x87_control, before.x87_status);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* Many calls, some of them long and some far apart: those are looked at more closely. */
static void calls(void)
{
    for (int i = 0; i < 5; i++) {
        steps(MANY / 5);
        pause_ms(1);
    }
}

static sigjmp_buf recovery;
static void recover(int s)
{
    siglongjmp(recovery, s);
}

static void expect_trap(void)
{
    static volatile double x;
    int s = sigsetjmp(recovery, 1);
    if (s == 0)
        x = 1 / x;
    expect(s == SIGFPE, "a division by zero gave signal %d", s);
}

static void traps(void)
{
    MPI_Init(NULL, NULL);
    signal(SIGFPE, recover);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    struct environment before = environment();
    calls();
    expect_environment(before, 0);
    MPI_Finalize();
    expect_environment(before, 1);
    expect_trap();
}

/* Even a rounded result traps. */
static void all_traps(void)
{
    MPI_Init(NULL, NULL);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    struct environment before = environment();
    calls();
    expect_environment(before, 0);
    fedisableexcept(FE_INEXACT);
    MPI_Finalize();
}

static void flags(void)
{
    MPI_Init(NULL, NULL);
    feclearexcept(FE_ALL_EXCEPT);
    struct environment clear = environment();
    calls();
    expect_environment(clear, 0);
    MPI_Finalize();
    expect_environment(clear, 1);
}

static void rounding(void)
{
    MPI_Init(NULL, NULL);
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    uint32_t sse = environment().sse | 0x8040; /* denormals are zero, as -ffast-math has it */
    uint16_t control = (uint16_t)(environment().x87_control & ~0x300); /* single precision */
    __asm__ volatile("ldmxcsr %0" : : "m"(sse));
    __asm__ volatile("fldcw %0" : : "m"(control));
#endif
    struct environment before = environment();
    calls();
    expect_environment(before, 0);
    MPI_Finalize();
    expect_environment(before, 1);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"traps", traps}, {"all-traps", all_traps}, {"flags", flags}, {"rounding", rounding}, {NULL, NULL},
    };
    return choose(modes, argc, argv);
}
