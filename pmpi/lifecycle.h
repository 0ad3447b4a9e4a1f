/*
 * What beginning by MPI_Init (lifecycle.c) and by MPI_Session_init (session.c) have in common.
 */
#ifndef MRL_LIFECYCLE_H
#define MRL_LIFECYCLE_H

#include "calls.h"

struct mrl_init {
    bool wanted; /* this process is to be measured */
    struct mrl_caller caller;
    struct mrl_instant before;
    uint64_t start;
};
struct mrl_init mrl_before_init(struct mrl_caller caller);
void mrl_begun_in(struct mrl_caller caller);
void mrl_describe(uint64_t init_ticks, int provided);

/* fatal.c: when the library is known. */
void mrl_fatal_begin(void);

/*
 * For a source of events that sees MPI's beginning and end by itself: when MPI is initialised; and before it is
 * finalised, in a call of MPI_Finalize that began at `start` (0: now). frames: the stack leads to the program.
 */
void mrl_begin_late(struct mrl_caller caller, bool frames);
void mrl_end_early(struct mrl_caller caller, uint64_t start);

#endif
