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

#endif
