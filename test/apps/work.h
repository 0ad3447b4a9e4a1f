/*
 * Computation of a known length: on the mock MPI's virtual clock where it runs on one, else on the thread's
 * CPU clock, so that a rank which loses its core does the same work in more time.
 */
#ifndef WORK_H
#define WORK_H

#include "../mock/include/mock.h"

#include <stdint.h>
#include <time.h>

static inline uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void work_ns(uint64_t ns)
{
    if (mock_compute) {
        mock_compute(ns);
        return;
    }
    uint64_t end = cpu_ns() + ns;
    while (cpu_ns() < end)
        for (volatile int i = 0; i < 200; i++)
            ;
}

#endif
