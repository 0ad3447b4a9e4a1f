/* Computation of a known length: on the bundled mock MPI's virtual clock where a program runs on one, else CPU time. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <time.h>

void mock_compute(uint64_t ns) __attribute__((weak));

static void work_us(double us)
{
    if (mock_compute) {
        mock_compute((uint64_t)(us * 1000));
        return;
    }
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    int64_t end = t.tv_sec * INT64_C(1000000000) + t.tv_nsec + (int64_t)(us * 1000);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * INT64_C(1000000000) + t.tv_nsec < end);
}

#endif
