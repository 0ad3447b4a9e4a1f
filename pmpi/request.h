/*
 * Operations in flight, from the application's request handle to what was started. An entry is held
 * before MPI_Wait or MPI_Test is entered, because the library may give the same handle to another
 * thread's new request before the call returns; an entry whose operation did not complete is put back.
 *
 * Handles are unique among operations in flight, apart from the one that libraries return for whatever
 * is complete at once; such an operation needs no entry.
 */
#ifndef MRL_REQUEST_H
#define MRL_REQUEST_H

#include "../cshim/shim.h"
#include "abi.h"

enum mrl_request_kind { MRL_REQ_SEND, MRL_REQ_RECV, MRL_REQ_COLLECTIVE, MRL_REQ_RMA, MRL_REQ_FILE, MRL_REQ_COMM, MRL_REQ_OTHER };
enum mrl_request_flag { MRL_REQ_PERSISTENT = 1, MRL_REQ_ACTIVE = 2, MRL_REQ_FORTRAN = 4, MRL_REQ_CANCELLING = 8 };

struct mrl_request {
    uint64_t bytes; /* to send, or room to receive */
    uint32_t number, path;
    int32_t peer, tag;
    uint32_t thread;
    uint16_t comm;
    uint8_t kind, flags;
    uint16_t op; /* of the call that prepared a persistent one */
    uint64_t pad[3];
};
_Static_assert(sizeof(struct mrl_request) == 64, "one cache line each");

/*
 * The table: 65,536 slots (4.5 MB of addresses, touched as far as handles spread). A handle lives in the
 * window of slots behind its own; when that is full the operation is not followed, and is counted. Handles lie together,
 * apart from the rest: a look through a window is one at three cache lines.
 */
#define MRL_REQUEST_SLOTS (1u << 16)
#define MRL_REQUEST_WINDOW 16u
#define MRL_HELD (UINT64_C(1) << 63)
extern MRL_HIDDEN struct mrl_request *mrl_requests;
extern MRL_HIDDEN _Atomic uint64_t *mrl_request_handles; /* of the slots; 0: free */

bool mrl_requests_begin(void);

static inline _Atomic uint64_t *mrl_request_handle(const struct mrl_request *slot)
{
    return &mrl_request_handles[slot - mrl_requests];
}

/* An operation that was complete when it was started has no entry. */
static inline bool mrl_request_done(mrl_word handle)
{
    return (handle & mrl_abi.request_done_mask) == mrl_abi.request_done;
}

/* Handles come in dense blocks, of which no two may share a window: so each is scattered by itself. */
static inline uint32_t mrl_request_home(mrl_word handle)
{
    return (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}
_Static_assert(MRL_REQUEST_SLOTS == 1u << 16, "mrl_request_home gives 16 bits");

void mrl_landed_elsewhere(const struct mrl_request *item);
struct mrl_request *mrl_request_left(mrl_word handle);

/*
 * A slot for a new operation, to be filled and then given its handle; NULL: no room. An equal handle found
 * on the way belongs to an operation whose end was not seen: it gives way.
 */
static inline struct mrl_request *mrl_request_new(mrl_word handle)
{
    uint32_t home = mrl_request_home(handle);
    for (uint32_t i = home; i < home + MRL_REQUEST_WINDOW; i++) {
        uint64_t before = atomic_load_explicit(&mrl_request_handles[i], memory_order_relaxed);
        if (before != 0 && before != handle)
            continue;
        if (!mrl.concurrent ||
            atomic_compare_exchange_strong_explicit(&mrl_request_handles[i], &before, MRL_HELD, memory_order_acquire, memory_order_relaxed)) {
            if (unlikely(before))
                mrl_landed_elsewhere(&mrl_requests[i]);
            return &mrl_requests[i];
        }
    }
    atomic_fetch_add_explicit(&mrl.header->requests_lost, 1, memory_order_relaxed);
    return NULL;
}

static inline void mrl_request_ready(struct mrl_request *slot, mrl_word handle)
{
    atomic_store_explicit(mrl_request_handle(slot), handle, memory_order_release);
}

/* The handle's entry, held for this thread; NULL if there is none. */
static inline struct mrl_request *mrl_request_hold(mrl_word handle)
{
    if (handle == mrl_abi.request_null || unlikely(!handle) || mrl_request_done(handle))
        return NULL;
    uint32_t home = mrl_request_home(handle);
    for (uint32_t i = home; i < home + MRL_REQUEST_WINDOW; i++) {
        uint64_t wanted = handle;
        if (atomic_load_explicit(&mrl_request_handles[i], memory_order_relaxed) == handle &&
            (!mrl.concurrent || atomic_compare_exchange_strong_explicit(&mrl_request_handles[i], &wanted, handle | MRL_HELD,
                                                                        memory_order_acquire, memory_order_relaxed)))
            return &mrl_requests[i];
    }
    return unlikely(mrl.concurrent && atomic_load_explicit(&mrl.header->calls_left, memory_order_relaxed)) ? mrl_request_left(handle) : NULL;
}

/* After the call: the operation goes on, or is done with. */
static inline void mrl_request_keep(struct mrl_request *slot)
{
    if (!slot || !mrl.concurrent)
        return;
    _Atomic uint64_t *handle = mrl_request_handle(slot);
    atomic_store_explicit(handle, atomic_load_explicit(handle, memory_order_relaxed) & ~MRL_HELD, memory_order_release);
}

static inline void mrl_request_cancelling(struct mrl_request *slot)
{
    if (slot)
        slot->flags |= MRL_REQ_CANCELLING;
    mrl_request_keep(slot);
}

static inline void mrl_request_drop(struct mrl_request *slot)
{
    if (slot)
        atomic_store_explicit(mrl_request_handle(slot), 0, memory_order_release);
}

/* Room for one call: the entries it holds, statuses that the application ignores, handles in C's form. */
struct mrl_scratch {
    struct mrl_request **held;
    char *statuses;
    uint64_t *handles;
    int64_t room;
};
extern _Thread_local struct mrl_scratch mrl_scratch __attribute__((tls_model("initial-exec"), visibility("hidden")));
bool mrl_scratch_grow(int64_t count);

#endif
