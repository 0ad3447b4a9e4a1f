/*
 * PETSc's solvers, stages and events. PETSc calls PetscLogPLB and PetscLogPLE, which are variables of its library, where an event
 * begins and ends; its logging of its own (-log_view) sets them through PetscLogSet. So we stand before PetscLogSet, and what
 * it sets is called by ours. Names come from the functions that register them. All of these are functions that applications
 * call as well, from PETSc 3.0 to 3.19. Later ones, and those built with PerfStubs, tell of their events through PerfStubs.
 *
 * A solve with a KSP that takes options (KSPSetFromOptions) is an invocation of a component that has the name of its prefix, KSP
 * where that is empty, with the number of rows, iterations and the reason for which it ended. It has in it what belongs to the solver's cost and is
 * not in PETSc's event of the same name: setting up the solver and its preconditioner. Solves within a solve are part of it.
 */
#include "../include/marple.h"
#include "adapter.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mrl_adapter events = {"petsc", "PETSc event"}, stages = {"petsc", "PETSc stage"}, solves = {"petsc", "PETSc solver"};

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

/* The solvers of one prefix. There are as many as the program has prefixes; they stay. */
struct solver {
    struct solver *next;
    struct marple_method method;
    _Atomic bool described;
    char about[]; /* "KSP" and the prefix, which is behind it; or "KSP" alone */
};
static struct solver *_Atomic solvers;

/* Solvers by handle, at one of eight places. Where these are taken the first is given up; of its solves only events are known. */
#define HANDLES 4096
static struct {
    void *_Atomic ksp;
    struct solver *_Atomic solver;
} handles[HANDLES + 8];

static struct solver *of_prefix(const char *prefix)
{
    const char *component = *prefix ? prefix : "KSP";
    for (struct solver *s = solvers; s; s = s->next)
        if (strcmp(s->method.component, component) == 0)
            return s;
    struct solver *s = calloc(1, sizeof *s + sizeof "KSP " + strlen(prefix));
    if (!s)
        return NULL;
    char *end = stpcpy(s->about, "KSP");
    if (*prefix)
        strcpy(stpcpy(end, " "), prefix);
    s->method = (struct marple_method){*prefix ? end + 1 : s->about, "solve", NULL, 0, 0};
    s->next = solvers;
    while (!atomic_compare_exchange_weak(&solvers, &s->next, s))
        ;
    return s;
}

static uint32_t place_of(void *ksp)
{
    return (uintptr_t)ksp * UINT64_C(0x9e3779b97f4a7c15) >> 52;
}

static struct solver *solver_of(void *ksp)
{
    for (uint32_t i = place_of(ksp), end = i + 8; i < end; i++)
        if (handles[i].ksp == ksp)
            return handles[i].solver;
    return NULL;
}

static void remember(void *ksp, struct solver *solver)
{
    uint32_t first = place_of(ksp), at = first;
    while (at < first + 8 && handles[at].ksp && handles[at].ksp != ksp)
        at++;
    at = at < first + 8 ? at : first;
    handles[at].solver = NULL;
    handles[at].ksp = ksp;
    handles[at].solver = solver;
}

/* A handle may have been that of a solver which is gone. */
MRL_ENTRY int KSPCreate(void *communicator, void **ksp)
{
    NEXT(KSPCreate, (void *, void **))
    int result = next ? next(communicator, ksp) : UNKNOWN;
    if (!result && ksp && solver_of(*ksp))
        remember(*ksp, NULL);
    return result;
}

/* Functions of PETSc's that are asked, only of solvers with which another one has succeeded. */
static struct {
    int (*prefix)(void *ksp, const char **);
    int (*iterations)(void *ksp, int64_t *);
    int (*reason)(void *ksp, int *);
    int (*has_matrices)(void *ksp, int *, int *);
    int (*matrices)(void *ksp, void **, void **);
    int (*size)(void *matrix, int64_t *, int64_t *);
    int (*type)(void *ksp, const char **);
    int (*preconditioner)(void *ksp, void **);
    int (*its_type)(void *preconditioner, const char **);
} petsc;

static bool can_ask(void)
{
    static _Atomic int asked;
    if (likely(asked))
        return asked > 0;
    static const struct {
        void *at;
        const char *name;
    } list[] = {{&petsc.prefix, "KSPGetOptionsPrefix"}, {&petsc.iterations, "KSPGetIterationNumber"}, {&petsc.reason, "KSPGetConvergedReason"},
                {&petsc.has_matrices, "KSPGetOperatorsSet"}, {&petsc.matrices, "KSPGetOperators"}, {&petsc.size, "MatGetSize"},
                {&petsc.type, "KSPGetType"}, {&petsc.preconditioner, "KSPGetPC"}, {&petsc.its_type, "PCGetType"}};
    int all = 1;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!(*(void **)list[i].at = mrl_adapter_next(list[i].name)))
            all = -1;
    asked = all;
    return all > 0;
}

MRL_ENTRY int KSPSetFromOptions(void *ksp)
{
    NEXT(KSPSetFromOptions, (void *))
    int result = next ? next(ksp) : UNKNOWN;
    const char *prefix = NULL;
    if (!result && mrl_adapter_listens(&solves) && can_ask() && petsc.prefix(ksp, &prefix) == 0)
        remember(ksp, of_prefix(prefix ? prefix : ""));
    return result;
}

/* Which solver and preconditioner the first one of a prefix is. */
static MRL_COLD void describe(struct solver *s, void *ksp)
{
    const char *type = NULL, *its_type = NULL;
    void *preconditioner = NULL;
    char text[128];
    s->described = true;
    if (petsc.type(ksp, &type) || petsc.preconditioner(ksp, &preconditioner) || petsc.its_type(preconditioner, &its_type))
        return;
    snprintf(text, sizeof text, "%s + %s", type ? type : "?", its_type ? its_type : "?");
    mrl_adapter_metadata(&solves, s->about, text);
}

/* PetscInt is of 32 bits or of 64; what is asked for is not negative. */
static void solved(struct solver *s, uint64_t token, void *ksp, int result)
{
    struct marple_value values[3] = {{.name = "rows"}, {.name = "iterations", .kind = MARPLE_QUALITY}, {.name = "reason", .kind = MARPLE_QUALITY}};
    int64_t iterations = 0, rows = 0, columns = 0;
    int reason = 0, has = 0, also = 0; /* PETSc makes matrices where there are none and it is asked for them */
    void *matrix = NULL, *second = NULL;
    bool known = !result && petsc.iterations(ksp, &iterations) == 0 && petsc.reason(ksp, &reason) == 0;
    if (known && petsc.has_matrices(ksp, &has, &also) == 0 && has && also && petsc.matrices(ksp, &matrix, &second) == 0 && matrix &&
        petsc.size(matrix, &rows, &columns) != 0)
        rows = 0;
    values[0].as.integer = rows;
    values[1].as.real = (double)iterations;
    values[2].as.real = reason;
    mrl_invocation_end(token, values, known ? 3 : 0);
    if (known && unlikely(!s->described))
        describe(s, ksp);
}

#define SOLVE(function)                                                                            \
    MRL_ENTRY int function(void *ksp, void *b, void *x)                                            \
    {                                                                                              \
        NEXT(function, (void *, void *, void *))                                                   \
        struct solver *s = solver_of(ksp);                                                         \
        uint64_t token = s ? mrl_adapter_invoke(&solves, &s->method, MRL_CALLER) : 0;              \
        int result = next ? next(ksp, b, x) : UNKNOWN;                                             \
        if (token)                                                                                 \
            solved(s, token, ksp, result);                                                         \
        return result;                                                                             \
    }
SOLVE(KSPSolve)
SOLVE(KSPSolveTranspose)
SOLVE(KSPMatSolve)
