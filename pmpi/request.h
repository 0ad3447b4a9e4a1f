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
enum mrl_request_flag { MRL_REQ_PERSISTENT = 1, MRL_REQ_ACTIVE = 2 };

struct mrl_request {
    uint64_t bytes; /* to send, or room to receive */
    uint32_t number, path;
    int32_t peer, tag;
    uint32_t thread;
    uint16_t comm;
    uint8_t kind, flags;
};
_Static_assert(sizeof(struct mrl_request) == 32, "two to a cache line");

/*
 * The table: 262,144 slots (10 MB of addresses, touched as far as handles spread). A handle lives in the
 * window of slots behind its own; when that is full the operation is not followed, and is counted.
 */
#define MRL_REQUEST_SLOTS (1u << 18)
#define MRL_REQUEST_WINDOW 16u
#define MRL_HELD (UINT64_C(1) << 63)
struct mrl_requests {
    _Atomic uint64_t handles[MRL_REQUEST_SLOTS + MRL_REQUEST_WINDOW];
    struct mrl_request items[MRL_REQUEST_SLOTS + MRL_REQUEST_WINDOW];
};
extern struct mrl_requests *mrl_requests;

bool mrl_requests_begin(void);

/* True for what has no entry: no request, or one that was complete when it was made. */
static inline bool mrl_request_trivial(mrl_word handle)
{
    return handle == mrl_abi.request_null || handle == mrl_abi.request_done ||
           (handle & mrl_abi.request_done_mask) == mrl_abi.request_done_bits;
}

static inline uint32_t mrl_request_home(mrl_word handle)
{
    uint64_t h = handle >> mrl_abi.request_shift;
    return (uint32_t)(h ^ h >> 20) & (MRL_REQUEST_SLOTS - 1);
}

/* An equal handle found on the way belongs to an operation whose end was not seen: it gives way. */
static inline void mrl_request_put(mrl_word handle, const struct mrl_request *item)
{
    uint32_t home = mrl_request_home(handle);
    for (uint32_t slot = home; slot < home + MRL_REQUEST_WINDOW; slot++) {
        _Atomic uint64_t *there = &mrl_requests->handles[slot];
        uint64_t before = atomic_load_explicit(there, memory_order_relaxed);
        if (before != 0 && before != handle)
            continue;
        if (mrl.concurrent && !atomic_compare_exchange_strong_explicit(there, &before, MRL_HELD, memory_order_acquire,
                                                                       memory_order_relaxed))
            continue;
        mrl_requests->items[slot] = *item;
        atomic_store_explicit(there, handle, memory_order_release);
        return;
    }
    atomic_fetch_add_explicit(&mrl.header->requests_lost, 1, memory_order_relaxed);
}

/* The handle's entry, held for this thread; MRL_NONE if there is none. */
static inline uint32_t mrl_request_hold(mrl_word handle)
{
    if (mrl_request_trivial(handle))
        return MRL_NONE;
    uint32_t home = mrl_request_home(handle);
    for (uint32_t slot = home; slot < home + MRL_REQUEST_WINDOW; slot++) {
        _Atomic uint64_t *there = &mrl_requests->handles[slot];
        uint64_t wanted = handle;
        if (!mrl.concurrent) {
            if (atomic_load_explicit(there, memory_order_relaxed) == handle)
                return slot;
        } else if (atomic_load_explicit(there, memory_order_relaxed) == handle &&
                   atomic_compare_exchange_strong_explicit(there, &wanted, handle | MRL_HELD, memory_order_acquire,
                                                           memory_order_relaxed)) {
            return slot;
        }
    }
    return MRL_NONE;
}

/* After the call: the operation goes on, or is done with. */
static inline void mrl_request_keep(uint32_t slot)
{
    if (slot == MRL_NONE || !mrl.concurrent)
        return;
    _Atomic uint64_t *there = &mrl_requests->handles[slot];
    atomic_store_explicit(there, atomic_load_explicit(there, memory_order_relaxed) & ~MRL_HELD, memory_order_release);
}

static inline void mrl_request_drop(uint32_t slot)
{
    if (slot != MRL_NONE)
        atomic_store_explicit(&mrl_requests->handles[slot], 0, memory_order_release);
}

/* Room for the entries held during one call, and for statuses that the application ignores. */
struct mrl_scratch {
    uint32_t *held;
    char *statuses;
    int64_t room;
};
struct mrl_scratch *mrl_scratch(int64_t count);

#endif
