/*
 * OMPT: what an OpenMP runtime tells a tool that it finds by ompt_start_tool (OpenMP 5.0, chapter 4; LLVM's libomp and what is
 * derived from it, but not GCC's libgomp). A parallel region is a region of the thread that meets it, and leaves with it what its
 * team did: how long the threads worked, and by how much the one that worked longest took more than the mean.
 *
 * Threads of a team leave no records of their own: each adds to its place in the team's, and whoever met the region reads
 * them when all have arrived at the barrier at its end. Work is time on a core that is not a wait at a barrier or for a lock,
 * nor MPI; a task that is run in a barrier is work. A region inside another's team belongs to the outer one.
 */
#include "adapter.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct mrl_adapter parallel = {"ompt", "OpenMP"};

/* As analysis/run knows them: ns, in regions of all threads that meet some. */
static const char *const counters[3] = {"OpenMP thread time (ns)", "OpenMP mean work (ns)", "OpenMP imbalance (ns)"};

union data { /* the tool's, in what the runtime keeps */
    uint64_t value;
    void *pointer;
};

enum { BEGIN = 1, END = 2 }; /* ompt_scope_endpoint_t */
enum { EXPLICIT_TASK = 1 };  /* in a task's data, beside pointers to teams */

#define TEAMS 32u    /* at a time; a region beyond these is recorded without what its team did */
#define THREADS 512u /* of a team; likewise */

struct team {
    _Atomic uint32_t serial; /* odd while it exists */
    _Atomic uint32_t size;
    uint64_t token, begin; /* ticks */
    struct {
        _Alignas(64) _Atomic uint64_t work; /* ticks */
    } threads[THREADS];
};
static struct team teams[TEAMS];

static _Thread_local struct {
    struct team *team;
    uint32_t serial, index;
    uint64_t from, mpi; /* ticks: since when it works, 0 if it waits; in MPI up to then */
    uint64_t paused;    /* ticks: since when it waited last */
    uint64_t asked, cpu; /* ns: when it was last asked about its CPU time, and what that was */
    bool waiting;       /* at a barrier, though a task may be run there */
} self __attribute__((tls_model("initial-exec")));

static bool in_team(void)
{
    return self.team && atomic_load_explicit(&self.team->serial, memory_order_relaxed) == self.serial;
}

/* CPU time since it was asked about last is looked at where a wait or some work was long, as cpu.c does. Ticks without a core. */
static uint64_t without_core(void)
{
    struct timespec time;
    if (mrl.confined || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time))
        return 0;
    uint64_t now = mrl_raw_ns(), cpu = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    uint64_t wall = now - self.asked, had = cpu - self.cpu;
    self.asked = now;
    self.cpu = cpu;
    return had < wall ? mrl_ns_to_ticks(wall - had) : 0;
}

static void go_on(void)
{
    if (self.from)
        return;
    self.from = mrl_now();
    if (self.from - self.paused > mrl.long_ticks)
        without_core();
    self.mpi = mrl_self ? mrl_self->mpi_sum : 0;
}

static void pause_work(void)
{
    if (!self.from)
        return;
    self.paused = mrl_now();
    uint64_t worked = self.paused - self.from, mpi = (mrl_self ? mrl_self->mpi_sum : 0) - self.mpi;
    if (worked > mrl.long_ticks) {
        uint64_t off = without_core();
        worked -= off < worked ? off : worked;
    }
    _Atomic uint64_t *work = &self.team->threads[self.index].work;
    atomic_store_explicit(work, atomic_load_explicit(work, memory_order_relaxed) + worked - (mpi < worked ? mpi : worked), memory_order_release);
    self.from = 0;
}

static void parallel_begins(union data *task, const void *frame, union data *region, unsigned wanted, int flags, const void *code)
{
    (void)task, (void)frame, (void)wanted, (void)flags, (void)code;
    region->pointer = NULL;
    if (in_team() || !mrl_adapter_listens(&parallel))
        return;
    uint64_t token = mrl_adapter_begin(&parallel, "OpenMP parallel", MRL_CALLER);
    for (uint32_t i = 0; token && i < TEAMS; i++) {
        struct team *team = &teams[i];
        uint32_t serial = atomic_load_explicit(&team->serial, memory_order_relaxed);
        if (serial & 1 || !atomic_compare_exchange_strong(&team->serial, &serial, serial + 1))
            continue;
        team->size = 0;
        team->token = token;
        team->begin = mrl_now();
        region->pointer = team;
        return;
    }
    region->value = token | (uint64_t)(token != 0) << 63; /* no place for a team: no pointer has that bit */
}

static void parallel_ends(union data *region, union data *task, int flags, const void *code)
{
    static _Atomic uint32_t place = MRL_COUNTERS_UNTOLD;
    (void)task, (void)flags, (void)code;
    if (region->value >> 63) {
        mrl_adapter_end(region->value & ~(UINT64_C(1) << 63));
        return;
    }
    struct team *team = region->pointer;
    if (!team)
        return;
    uint64_t wall = mrl_now() - team->begin, sum = 0, most = 0;
    uint32_t size = atomic_load(&team->size);
    for (uint32_t i = 0; i < size && i < THREADS; i++) {
        uint64_t work = atomic_load_explicit(&team->threads[i].work, memory_order_acquire);
        sum += work;
        most = work > most ? work : most;
    }
    uint64_t token = team->token, mean = size ? sum / size : 0;
    atomic_fetch_add(&team->serial, 1);
    region->pointer = NULL;
    if (!size || size > THREADS || !mrl.started)
        mrl_adapter_end(token);
    else
        mrl_adapter_end_counted(token, mrl_counters_told(&place, counters, 3),
                                (const uint64_t[3]){mrl_ticks_to_ns(wall) * size, mrl_ticks_to_ns(mean), mrl_ticks_to_ns(most - mean)});
}

/* On each thread of a team; also once for the whole program on some. */
static void implicit_task(int point, union data *region, union data *task, unsigned size, unsigned index, int flags)
{
    (void)flags;
    if (point == BEGIN) {
        struct team *team = region && !(region->value >> 63) ? region->pointer : NULL;
        task->pointer = team;
        if (!team)
            return;
        team->size = size; /* all store the same */
        self.team = NULL;
        if (index >= THREADS)
            return;
        self.team = team;
        self.serial = atomic_load(&team->serial);
        self.index = index;
        self.waiting = false;
        self.from = 0;
        atomic_store_explicit(&team->threads[index].work, 0, memory_order_relaxed);
        go_on();
    } else if (point == END && self.team && task && task->pointer == self.team) {
        if (in_team())
            pause_work();
        self.team = NULL;
    }
}

/* Waiting for other tasks is a chance to run them, and no barrier. */
static void waits(int kind, int point, union data *region, union data *task, const void *code)
{
    (void)region, (void)task, (void)code;
    enum { TASKWAIT = 5, TASKGROUP = 6, REDUCTION = 7 };
    if (!in_team() || (kind >= TASKWAIT && kind <= REDUCTION))
        return;
    self.waiting = point == BEGIN;
    if (self.waiting)
        pause_work();
    else
        go_on();
}

static void task_made(union data *task, const void *frame, union data *made, int flags, int dependent, const void *code)
{
    (void)task, (void)frame, (void)flags, (void)dependent, (void)code;
    enum { INITIAL = 1, IMPLICIT = 2 };
    if (made)
        made->value = flags & (INITIAL | IMPLICIT) ? 0 : EXPLICIT_TASK;
}

static void task_changes(union data *before, int status, union data *after)
{
    (void)before, (void)status;
    if (!self.waiting || !in_team())
        return;
    if (after && after->value == EXPLICIT_TASK)
        go_on();
    else
        pause_work();
}

static void lock_wanted(int kind, unsigned hint, unsigned how, uint64_t lock, const void *code)
{
    (void)kind, (void)hint, (void)how, (void)lock, (void)code;
    if (in_team())
        pause_work();
}

static void lock_had(int kind, uint64_t lock, const void *code)
{
    (void)kind, (void)lock, (void)code;
    if (in_team())
        go_on();
}

typedef void callback(void);
typedef callback *lookup(const char *name);

/* 0: the runtime goes on without a tool. */
static int initialise(lookup *find, int device, union data *tool)
{
    static const struct {
        int event; /* ompt_callbacks_t */
        callback *function;
    } events[] = {
        {3, (callback *)parallel_begins}, {4, (callback *)parallel_ends}, {5, (callback *)task_made}, {6, (callback *)task_changes},
        {7, (callback *)implicit_task},   {16, (callback *)waits},        {26, (callback *)lock_wanted}, {27, (callback *)lock_had},
    };
    (void)device, (void)tool;
    int (*set)(int, callback *) = (int (*)(int, callback *))find("ompt_set_callback");
    for (size_t i = 0; set && i < sizeof events / sizeof *events; i++)
        set(events[i].event, events[i].function);
    return set != NULL;
}

static void finish(union data *tool)
{
    (void)tool;
}

struct tool {
    int (*initialise)(lookup *, int, union data *);
    void (*finish)(union data *);
    union data data;
};

/* Whoever else wants to be the tool is: there can be one only, and this one has come uninvited. */
MRL_ENTRY struct tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct tool ours = {initialise, finish, {0}};
    const char *others = getenv("OMP_TOOL_LIBRARIES"), *wanted = getenv("MARPLE_ENABLE");
    struct tool *(*next)(unsigned, const char *), *theirs;
    *(void **)&next = dlsym(RTLD_NEXT, "ompt_start_tool");
    if (next && (theirs = next(version, runtime)))
        return theirs;
    if (others && *others && !strstr(others, "libmarple"))
        return NULL;
    if (dlsym(RTLD_DEFAULT, "__tsan_init")) /* whose own tool the runtime would load, so as to know of barriers */
        return NULL;
    return wanted && !strcmp(wanted, "off") ? NULL : &ours;
}
