#include "request.h"

#include <stdlib.h>
#include <sys/mman.h>

struct mrl_request *mrl_requests;
_Atomic uint64_t *mrl_request_handles;

bool mrl_requests_begin(void)
{
    size_t slots = MRL_REQUEST_SLOTS + MRL_REQUEST_WINDOW;
    char *p = mmap(NULL, slots * (sizeof *mrl_requests + sizeof *mrl_request_handles), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    mrl_requests = (struct mrl_request *)p;
    mrl_request_handles = (_Atomic uint64_t *)(p + slots * sizeof *mrl_requests);
    return true;
}

/* The entry of a handle that a call held which was left: nobody else can wait for it, since a handle belongs to one call at a time. */
MRL_COLD struct mrl_request *mrl_request_left(mrl_word handle)
{
    uint32_t home = mrl_request_home(handle);
    for (uint32_t i = home; i < home + MRL_REQUEST_WINDOW; i++)
        if (atomic_load_explicit(&mrl_request_handles[i], memory_order_acquire) == (handle | MRL_HELD))
            return &mrl_requests[i];
    return NULL;
}

/* Tells the thread that started an operation that it is no longer in flight. */
MRL_COLD void mrl_landed_elsewhere(const struct mrl_request *item)
{
    struct mrl_thread *t = item->thread < MRL_THREADS_MAX ? mrl.threads[item->thread] : NULL;
    if (t && item->flags & MRL_REQ_ACTIVE)
        atomic_fetch_add_explicit(&t->landed, 1, memory_order_relaxed);
}

/* A thread that waits for a million requests at once may cost 48 MB; beyond that they are not followed. */
#define SCRATCH_MAX (1 << 20)

_Thread_local struct mrl_scratch mrl_scratch __attribute__((tls_model("initial-exec")));

/* False if there is no room for so many. The memory is the thread's, and kept for the next time. */
MRL_COLD bool mrl_scratch_grow(int64_t count)
{
    if (count > SCRATCH_MAX)
        return false;
    int64_t room = mrl_scratch.room ? mrl_scratch.room : 64;
    while (room < count)
        room *= 2;
    enum { STATUS = 32, EACH = STATUS + sizeof *mrl_scratch.held + sizeof *mrl_scratch.handles };
    if (mrl_scratch.room)
        munmap(mrl_scratch.statuses, (size_t)mrl_scratch.room * EACH);
    mrl_scratch = (struct mrl_scratch){NULL, NULL, NULL, 0};
    char *p = mmap(NULL, (size_t)room * EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    mrl_scratch.statuses = p;
    mrl_scratch.held = (struct mrl_request **)(p + room * STATUS);
    mrl_scratch.handles = (uint64_t *)(mrl_scratch.held + room);
    mrl_scratch.room = room;
    return true;
}
