/*
 * A thread's counters, read where regions and invocations begin and end. Nobody calls these unless something is
 * counted: mrl.counters says how much.
 */
#ifndef MRL_COUNTER_H
#define MRL_COUNTER_H

#include "shim.h"

/* Finds out what of MARPLE_COUNTERS can be counted, and says what cannot. */
void mrl_counters_choose(void);

/* In the thread: it begins to count, and ends; in between, what it has counted in all becomes a record. */
void mrl_counters_begin(struct mrl_thread *t);
void mrl_counters_total(struct mrl_thread *t);
void mrl_counters_end(struct mrl_thread *t);

/* Before the innermost open one is opened, and before it is closed; then what was counted, as records at `at`. */
void mrl_count_from(struct mrl_thread *t);
void mrl_count_to(struct mrl_thread *t);
uint64_t mrl_write_counts(struct mrl_thread *t, uint32_t path, uint8_t flags, uint64_t at);

/*
 * Places for counters that nobody reads, because somebody else tells their values: `n` behind one another; MRL_COUNTERS if there
 * is no room for them. Each caller keeps its own place, which is MRL_COUNTERS_UNTOLD at first.
 */
#define MRL_COUNTERS_UNTOLD (MRL_COUNTERS + 1)
uint32_t mrl_counters_told(_Atomic uint32_t *place, const char *const *names, uint32_t n);

/* Around what Marple does on its own account and is not small. */
void mrl_counters_pause(struct mrl_thread *t);
void mrl_counters_resume(struct mrl_thread *t);

#endif
