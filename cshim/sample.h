/*
 * Timer samples: where threads are while they compute, several times a second of their CPU time (MARPLE_SAMPLE).
 *
 * May use: libc. Who samples a thread is a signal that its own clock sends to it, so one that is blocked is never
 * interrupted.
 *
 * Invariant: the handler takes no lock, allocates nothing, looks nothing up and keeps errno; it writes to its thread's
 * tables only. What they hold is named and recorded later, where events are.
 */
#ifndef MRL_SAMPLE_H
#define MRL_SAMPLE_H

#include "path.h"

/* In the thread that calls MPI_Init. Says so where there can be no samples. */
void mrl_samples_begin(struct mrl_thread *t);

/* A thread begins, or ends, to have records of its own. */
void mrl_samples_thread_begin(struct mrl_thread *t);
void mrl_samples_thread_end(struct mrl_thread *t);

/* Before an event: writes what there is since the last one, and what threads without events have. */
void mrl_samples_write(struct mrl_thread *t);

/* In a child, which has no timers. */
void mrl_samples_forked(void);

/* The timers go, and the signal is free again. The second writes what is left, if there is a thread to write it. */
void mrl_samples_stop(void);
void mrl_samples_finish(struct mrl_thread *t);

#endif
