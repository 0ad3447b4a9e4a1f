/* What finding the callers costs others: both clock readings, and the compiler's own unwinder at each call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>
#include <unwind.h>

struct trace {
    int count;
    uintptr_t pc[32];
};

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *data)
{
    struct trace *t = data;
    t->pc[t->count++] = _Unwind_GetIP(context);
    return t->count == 32 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static volatile uintptr_t sink;
static volatile long spent;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

int MPI_Iprobe(int source, int tag, void *comm, int *flag, void *status)
{
    static int (*next)(int, int, void *, int *, void *);
    struct trace t = {0};
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "MPI_Iprobe");
    long start = now();
    int rc = next(source, tag, comm, flag, status);
    spent += now() - start;
    _Unwind_Backtrace(note, &t);
    sink = t.pc[t.count - 1];
    return rc;
}
