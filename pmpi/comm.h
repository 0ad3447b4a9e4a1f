/*
 * Communicators: from the application's handle to an index in the table that analysis reads. Windows
 * and files are looked up the same way, and stand for the communicator they were made on.
 */
#ifndef MRL_COMM_TABLE_H
#define MRL_COMM_TABLE_H

#include "../cshim/shim.h"
#include "abi.h"

/*
 * Open addressing over handles. A handle that the library uses again replaces its old meaning; slots
 * are never emptied, so that readers need no lock. Kinds have maps of their own, because their handles
 * may collide.
 */
#define MRL_MAP_SLOTS 8192u
struct mrl_map {
    struct {
        _Atomic uint64_t handle;
        _Atomic uint32_t index;
    } slots[MRL_MAP_SLOTS];
};
extern struct mrl_map mrl_comms, mrl_windows, mrl_files;

/* Index of what this canonical handle stands for; 0, which stands for "unknown", if nobody knows. */
uint32_t mrl_map_get(struct mrl_map *map, mrl_word handle);
void mrl_map_put(struct mrl_map *map, mrl_word handle, uint32_t index);

/* A file stands for its communicator, and for what is counted of it (io.c) where that is wanted. */
static inline void mrl_file_opened(mrl_word file, uint32_t comm, const char *name, size_t length, uint64_t ticks)
{
    mrl_map_put(&mrl_files, *(const mrl_word *)file, comm | mrl_file_named(name, length, ticks) << 16);
}
static inline uint32_t mrl_on_file(mrl_word file)
{
    return mrl_map_get(&mrl_files, file) & 0xffff;
}
static inline uint32_t mrl_file(mrl_word file)
{
    return mrl_map_get(&mrl_files, file) >> 16;
}

/* Only for handles the library has just accepted: an unknown one is asked what it is. */
uint32_t mrl_comm_miss(struct mrl_thread *t, mrl_word handle);
static inline uint32_t mrl_comm(struct mrl_thread *t, mrl_word word)
{
    mrl_word handle = mrl_handle(word);
    const struct mrl_known *cached = &t->comms[(handle ^ handle >> 8) & (MRL_COMM_CACHE - 1)];
    return likely(cached->handle == handle) ? (uint32_t)cached->index : mrl_comm_miss(t, handle);
}

/* Records MPI_COMM_WORLD and MPI_COMM_SELF. */
void mrl_comms_begin(void);
/* Where there is neither: the group takes the world's place, and is kept. */
void mrl_comms_begin_without_world(mrl_word group);
/* After a call that makes communicators on `parent` (0: on nothing): *result may be MPI_COMM_NULL.
 * by_group: only the new members took part in the call. */
void mrl_comm_made(struct mrl_thread *t, mrl_word parent, mrl_word result, bool by_group);
/* The same in two steps, for a creation that completes later. */
uint32_t mrl_comm_ordinal(uint32_t parent);
void mrl_comm_arrived(uint32_t parent, uint32_t ordinal, mrl_word result);
void mrl_comm_freed(uint32_t index);
void mrl_comm_named(mrl_word comm, const char *name, size_t length);

/* How many blocks a collective moves, by the words of functions.txt. */
static inline int64_t mrl_comm_n(uint32_t comm)
{
    return comm ? mrl_comm_at(comm)->size : 0;
}
int64_t mrl_comm_local(mrl_word handle, uint32_t comm);
static inline int64_t mrl_comm_me(uint32_t comm)
{
    return comm ? mrl_comm_at(comm)->rank : 0;
}
static inline bool mrl_comm_inter(uint32_t comm)
{
    return comm && mrl_comm_at(comm)->flags & MRL_COMM_INTER;
}
int64_t mrl_comm_sources(mrl_word handle, uint32_t comm);
int64_t mrl_comm_destinations(mrl_word handle, uint32_t comm);

#endif
