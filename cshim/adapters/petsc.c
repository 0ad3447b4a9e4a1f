/*
 * PETSc's stages and events. PETSc calls PetscLogPLB and PetscLogPLE, which are variables of its library, where an event
 * begins and ends; its logging of its own (-log_view) sets them through PetscLogSet. So we stand before PetscLogSet, and what
 * it sets is called by ours. Names come from the functions that register them. All of these are functions that applications
 * call as well, from PETSc 3.0 to 3.19. Later ones, and those built with PerfStubs, tell of their events through PerfStubs.
 */
#include "adapter.h"

#include <dlfcn.h>

static const struct mrl_adapter events = {"petsc", "PETSc event"}, stages = {"petsc", "PETSc stage"};

typedef int hook(int event, int type, void *, void *, void *, void *);

/* Names by number; further ones are not recorded. */
#define NAMES 4096
static const char *_Atomic event_names[NAMES], *_Atomic stage_names[NAMES];

static hook *_Atomic next_begin, *_Atomic next_end;

static int event_begins(int event, int type, void *a, void *b, void *c, void *d)
{
    if (event >= 0 && event < NAMES && event_names[event])
        mrl_adapter_begin(&events, event_names[event], MRL_CALLER);
    hook *next = next_begin;
    return next ? next(event, type, a, b, c, d) : 0;
}

static int event_ends(int event, int type, void *a, void *b, void *c, void *d)
{
    hook *next = next_end;
    int result = next ? next(event, type, a, b, c, d) : 0;
    if (event >= 0 && event < NAMES && event_names[event])
        mrl_adapter_end_innermost(&events, event_names[event]);
    return result;
}

/* A variable of the library that has a function of PETSc's; or the program's copy of it, which is the one that counts. */
static void *variable(void *library, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : dlsym(library, name);
}

/* Puts ours where PETSc's hooks are; what was there is called by them. Where PETSc speaks to PerfStubs nothing is done. */
static void listen(void *known)
{
    Dl_info info;
    void *library = dladdr(known, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    if (!library)
        return;
    hook **begin = variable(library, "PetscLogPLB"), **end = variable(library, "PetscLogPLE");
    if (begin && end && *begin != event_begins && !dlsym(library, "ps_initialize_") && mrl_adapter_listens(&events)) {
        next_begin = *begin;
        next_end = *end;
        *begin = event_begins;
        *end = event_ends;
    }
    dlclose(library);
}

#define UNKNOWN 56 /* PETSC_ERR_SUP: the function that was called is nowhere, which cannot be */
#define NEXT(function, parameters)                            \
    static void *_Atomic found;                               \
    void *known = found;                                      \
    if (unlikely(!known))                                     \
        found = known = mrl_adapter_next(#function);          \
    int (*next) parameters;                                   \
    *(void **)&next = known;

static void name(const char *_Atomic *names, int number, const char *name)
{
    if (number >= 0 && number < NAMES && !names[number])
        names[number] = mrl_adapter_keep(name);
}

MRL_ENTRY int PetscLogEventRegister(const char *event, int class, int *number)
{
    NEXT(PetscLogEventRegister, (const char *, int, int *))
    int result = next ? next(event, class, number) : UNKNOWN;
    if (!result && number)
        name(event_names, *number, event);
    if (next)
        listen(known);
    return result;
}

MRL_ENTRY int PetscLogStageRegister(const char *stage, int *number)
{
    NEXT(PetscLogStageRegister, (const char *, int *))
    int result = next ? next(stage, number) : UNKNOWN;
    if (!result && number)
        name(stage_names, *number, stage);
    return result;
}

MRL_ENTRY int PetscLogSet(hook *begin, hook *end)
{
    NEXT(PetscLogSet, (hook *, hook *))
    int result = next ? next(begin, end) : UNKNOWN;
    if (next && (begin || end))
        listen(known);
    return result;
}

/* Of the stages that are pushed, whether they are regions; a bit each, the last one lowest. PETSc's main stage is none. */
static uint64_t pushed;

MRL_ENTRY int PetscLogStagePush(int stage)
{
    NEXT(PetscLogStagePush, (int))
    bool named = stage >= 0 && stage < NAMES && stage_names[stage];
    pushed = pushed << 1 | named;
    if (named)
        mrl_adapter_begin(&stages, stage_names[stage], MRL_CALLER);
    return next ? next(stage) : UNKNOWN;
}

MRL_ENTRY int PetscLogStagePop(void)
{
    NEXT(PetscLogStagePop, (void))
    int result = next ? next() : UNKNOWN;
    if (pushed & 1)
        mrl_adapter_end_innermost(&stages, NULL);
    pushed >>= 1;
    return result;
}
