/* What a test program may ask of the mock MPI beyond MPI.
 *
 * All three are weak references, so one source file serves every MPI: where the
 * mock is not linked they are null, and `if (mock_compute)` tells. Under another
 * MPI include this file by its path, never by -I: mpi.h beside it is the mock's. */
#ifndef MOCK_H
#define MOCK_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Work for ns nanoseconds: on the virtual clock of this rank between MPI_Init
 * and the end of the program (nothing before), else on the thread's CPU clock. */
void mock_compute(uint64_t ns) __attribute__((weak));

/* This rank's clock in ns: virtual time, or CLOCK_MONOTONIC in real time. */
uint64_t mock_now(void) __attribute__((weak));

/* Virtual time for tools, and UINT64_MAX in real time. No call to the server: it
 * works before MPI_Init, when virtual time is 0, and after MPI_Finalize. */
uint64_t marple_clock_external(void) __attribute__((weak));

#if defined(__cplusplus)
}
#endif

#endif
