/* The clock of the rank, and what passes time on it.
 *
 * In virtual time the clock here is the true one between calls: a call takes it
 * to the server and brings it back later or equal. It starts at 0 when MPI_Init
 * returns and only the thread that called MPI_Init moves it by sleeping, so a
 * tool's own threads sleep for real. With --cpu the time for which that thread
 * has had a core since the last call is added, but for what reading the clock
 * takes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "mock.h"

static const uint64_t second = 1000000000;

static _Atomic uint64_t virtual_now;
static _Atomic bool started, computing; /* computing: outside of calls, with --cpu */
static _Atomic uint64_t computed;       /* reading of the thread's CPU clock at virtual_now */
static uint64_t reading;                /* what it takes to read that clock, at least: no time of the rank's */
static pthread_t owner;
static clockid_t owners_clock;

/* What a tool does between the last time it looks at the clock before a call and that call, and between a return and the
 * first time it looks, is no time of the rank's either, if it is no longer than a tool may take. */
static const uint64_t tools = 20000;
static uint64_t returned, looked; /* looked: last, if it looks since it returned */
static bool looks;

static uint64_t read_clock(clockid_t id)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

uint64_t clock_now(void)
{
    if (!environment.is_virtual)
        return read_clock(CLOCK_MONOTONIC);
    if (!computing)
        return virtual_now;
    uint64_t now = read_clock(owners_clock), since = now - computed;
    if (!pthread_equal(pthread_self(), owner))
        return virtual_now + since;
    virtual_now += since > reading ? since - reading : 0;
    computed = now;
    return virtual_now;
}

__attribute__((constructor)) static void note_main_thread(void)
{
    owner = pthread_self();
}

static void compute(void)
{
    if (environment.cpu && started) {
        computed = read_clock(owners_clock);
        computing = true;
        returned = virtual_now;
        looks = false;
    }
}

/* The time at which a tool looks at the clock. */
static uint64_t look(void)
{
    uint64_t now = clock_now();
    if (!computing || !pthread_equal(pthread_self(), owner))
        return now;
    if (!looks && now - returned <= tools)
        virtual_now = now = returned;
    looks = true;
    return looked = now;
}

/* A child has no thread of that clock: its time stands. */
static void forked(void)
{
    computing = false;
}

void clock_start(void)
{
    owner = pthread_self();
    pthread_getcpuclockid(owner, &owners_clock);
    reading = UINT64_MAX;
    for (uint64_t i = 0, last = read_clock(owners_clock); i < 100; i++) {
        uint64_t now = read_clock(owners_clock);
        reading = now - last < reading ? now - last : reading;
        last = now;
    }
    pthread_atfork(NULL, NULL, forked);
    started = true;
    compute();
}

void clock_stop(void)
{
    if (environment.cpu) {
        uint64_t now = clock_now();
        virtual_now = computing && looks && now - looked <= tools ? looked : now;
        computing = false;
    }
}

void clock_set(uint64_t now)
{
    virtual_now = now;
    compute();
}

static void pass(uint64_t ns)
{
    if (started)
        virtual_now += ns;
}

void clock_tick(void)
{
    pass(environment.tick);
}


uint64_t mock_now(void)
{
    return clock_now();
}

uint64_t marple_clock_external(void)
{
    if (!environment.is_virtual)
        return UINT64_MAX;
    int64_t host = host_of(environment.rank), now = (int64_t)look();
    return (uint64_t)(now + host * (environment.skew + (int64_t)((__int128)now * environment.drift / (int64_t)second)));
}

void mock_compute(uint64_t ns)
{
    if (environment.is_virtual) {
        pass(ns);
        return;
    }
    uint64_t end = read_clock(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end)
        continue;
}

API_RETURNS(double, Wtime, void)
{
    return (double)clock_now() / (double)second;
}

API_RETURNS(double, Wtick, void)
{
    return 1.0 / (double)second;
}

static bool sleeps_virtually(void)
{
    return environment.is_virtual && pthread_equal(pthread_self(), owner);
}

int nanosleep(const struct timespec *request, struct timespec *remain)
{
    if (sleeps_virtually() && request->tv_sec >= 0 && request->tv_nsec >= 0 &&
        request->tv_nsec < (long)second) {
        pass((uint64_t)request->tv_sec * second + (uint64_t)request->tv_nsec);
        return 0;
    }
    int (*next)(const struct timespec *, struct timespec *) = dlsym(RTLD_NEXT, "nanosleep");
    return next(request, remain);
}

/* A sleep until a time of a real clock has no meaning in virtual time. */
int clock_nanosleep(clockid_t id, int flags, const struct timespec *request,
                    struct timespec *remain)
{
    if (sleeps_virtually() && !(flags & TIMER_ABSTIME))
        return nanosleep(request, remain);
    int (*next)(clockid_t, int, const struct timespec *, struct timespec *) =
        dlsym(RTLD_NEXT, "clock_nanosleep");
    return next(id, flags, request, remain);
}

int usleep(useconds_t us)
{
    if (sleeps_virtually()) {
        pass((uint64_t)us * 1000);
        return 0;
    }
    int (*next)(useconds_t) = dlsym(RTLD_NEXT, "usleep");
    return next(us);
}

unsigned sleep(unsigned seconds)
{
    if (sleeps_virtually()) {
        pass(seconds * second);
        return 0;
    }
    unsigned (*next)(unsigned) = dlsym(RTLD_NEXT, "sleep");
    return next(seconds);
}
