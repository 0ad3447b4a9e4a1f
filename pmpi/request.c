#include "request.h"

#include <stdlib.h>
#include <sys/mman.h>

struct mrl_requests *mrl_requests;

bool mrl_requests_begin(void)
{
    void *p = mmap(NULL, sizeof *mrl_requests, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mrl_requests = p == MAP_FAILED ? NULL : p;
    return mrl_requests != NULL;
}

/* A thread that waits for a million requests at once may cost 36 MB; beyond that they are not followed. */
#define SCRATCH_MAX (1 << 20)

static _Thread_local struct mrl_scratch scratch;

/* NULL if there is no room for so many. The memory is the thread's, and kept for the next time. */
struct mrl_scratch *mrl_scratch(int64_t count)
{
    if (count <= scratch.room)
        return &scratch;
    if (count > SCRATCH_MAX)
        return NULL;
    int64_t room = scratch.room ? scratch.room : 64;
    while (room < count)
        room *= 2;
    size_t statuses = (size_t)room * 32, held = (size_t)room * sizeof *scratch.held;
    if (scratch.statuses)
        munmap(scratch.statuses, (size_t)scratch.room * (32 + sizeof *scratch.held));
    scratch = (struct mrl_scratch){NULL, NULL, 0};
    void *p = mmap(NULL, statuses + held, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    scratch = (struct mrl_scratch){.held = (uint32_t *)((char *)p + statuses), .statuses = p, .room = room};
    return &scratch;
}
