#include "request.h"

#include <stdlib.h>
#include <sys/mman.h>

struct mrl_request *mrl_requests;

bool mrl_requests_begin(void)
{
    size_t size = (MRL_REQUEST_SLOTS + MRL_REQUEST_WINDOW) * sizeof *mrl_requests;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mrl_requests = p == MAP_FAILED ? NULL : p;
    return mrl_requests != NULL;
}

/* A thread that waits for a million requests at once may cost 40 MB; beyond that they are not followed. */
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
    size_t statuses = (size_t)room * 32, held = (size_t)room * sizeof *mrl_scratch.held;
    if (mrl_scratch.statuses)
        munmap(mrl_scratch.statuses, (size_t)mrl_scratch.room * (32 + sizeof *mrl_scratch.held));
    mrl_scratch = (struct mrl_scratch){NULL, NULL, 0};
    void *p = mmap(NULL, statuses + held, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    mrl_scratch = (struct mrl_scratch){.held = (struct mrl_request **)((char *)p + statuses), .statuses = p, .room = room};
    return true;
}
