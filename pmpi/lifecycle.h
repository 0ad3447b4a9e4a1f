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

/* The run directory's name, made of the settings or of the job's; its length. */
#define MRL_DIRECTORY 4096
size_t mrl_directory_name(char *out, size_t size, const char *job);
const char *mrl_job_id(void); /* NULL: no batch system */

/* Measured by itself, without a world. */
extern bool mrl_alone;

#endif
