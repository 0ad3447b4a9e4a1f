/*
 * Opening and calling the Go core. A Go runtime inside somebody else's process is tolerable only if it
 * leaves no trace there: it is loaded late, once, and around everything that runs Go code
 *
 *  - signals are blocked, so that no handler of the application runs on a Go stack, except the
 *    synchronous faults, which the Go runtime turns into panics that the core recovers from;
 *  - those faults' handlers and the alternate signal stack are Go's during the call and the
 *    application's again afterwards;
 *  - the floating-point environment is the default one: Go code dies of an application's traps.
 *
 * A forked child never enters, and a machine that cannot carry the runtime keeps its raw records.
 */
#include "core.h"
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(MRL_CORE_THREADS == MRL_THREADS_MAX, "core.h repeats it for Go");

#define HEADROOM_NEEDED (2ull << 30) /* the runtime reserves 1.5 GB of addresses */
#define THREADS_NEEDED 6
#define STACK_NEEDED (128u << 10)

enum { UNOPENED, OPENING, READY, UNAVAILABLE };

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { FAULTS = sizeof faults / sizeof *faults };

static struct {
    _Atomic int state;
    void *session;
    mrl_core_open_fn *open;
    mrl_core_consume_fn *consume;
    mrl_core_finish_fn *gather, *replay, *conclude;
    char why[512]; /* there is no core */
    struct sigaction handlers[FAULTS]; /* the Go runtime's */
} core;
static _Thread_local stack_t go_stack; /* alternate signal stack Go gave this thread */

struct guard {
    sigset_t mask;
    fenv_t floating;
    struct sigaction handlers[FAULTS]; /* the application's, as is the rest here */
    stack_t stack;
};

static void enter(struct guard *g)
{
    sigset_t all;
    sigfillset(&all);
    for (int i = 0; i < FAULTS; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &g->mask);
    feholdexcept(&g->floating);
    sigaltstack(go_stack.ss_sp ? &go_stack : NULL, &g->stack);
    bool ready = core.handlers[0].sa_handler != SIG_DFL;
    for (int i = 0; i < FAULTS; i++)
        sigaction(faults[i], ready ? &core.handlers[i] : NULL, &g->handlers[i]);
}

static void leave(struct guard *g)
{
    for (int i = 0; i < FAULTS; i++)
        sigaction(faults[i], &g->handlers[i], NULL);
    sigaltstack(NULL, &go_stack);
    if (!(g->stack.ss_flags & SS_ONSTACK))
        sigaltstack(&g->stack, NULL);
    fesetenv(&g->floating);
    pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The Go runtime aborts the process when it cannot start a thread, so try with our own first. */
static bool threads_can_be_made(void)
{
    pthread_t threads[THREADS_NEEDED];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t attributes;
    int made = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_mutex_lock(&gate);
    while (made < THREADS_NEEDED && !pthread_create(&threads[made], &attributes, pass, &gate))
        made++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attributes);
    return made == THREADS_NEEDED;
}

static bool address_space_suffices(void)
{
    struct rlimit limit;
    unsigned long long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return true;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return false;
    int read = fscanf(file, "%llu", &pages);
    fclose(file);
    return read == 1 && limit.rlim_cur > pages * 4096 + HEADROOM_NEEDED;
}

/* The core lies beside this library unless a setting says otherwise. */
static bool core_path(char *path, size_t size)
{
    if (*mrl.settings.core)
        return snprintf(path, size, "%s", mrl.settings.core) < (int)size;
    return mrl_beside("libmarple-core.so", path, size);
}

static bool load(const char *path, char *why, size_t size)
{
    struct sigaction before[NSIG];
    for (int s = 1; s < NSIG; s++)
        sigaction(s, NULL, &before[s]);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) {
        *(void **)&core.open = dlsym(library, MRL_CORE_OPEN);
        *(void **)&core.consume = dlsym(library, MRL_CORE_CONSUME);
        *(void **)&core.gather = dlsym(library, MRL_CORE_GATHER);
        *(void **)&core.replay = dlsym(library, MRL_CORE_REPLAY_WAITS);
        *(void **)&core.conclude = dlsym(library, MRL_CORE_CONCLUDE);
        for (int i = 0; i < FAULTS; i++)
            sigaction(faults[i], NULL, &core.handlers[i]);
        for (int s = 1; s < NSIG; s++)
            if (s != SIGKILL && s != SIGSTOP)
                sigaction(s, &before[s], NULL);
        for (int i = 0; i < FAULTS; i++)
            sigaction(faults[i], &core.handlers[i], NULL);
    } else {
        const char *error = dlerror();
        snprintf(why, size, "%s", error ? error : "unknown error");
        return false;
    }
    if (!core.open || !core.consume || !core.gather || !core.replay || !core.conclude) {
        snprintf(why, size, "%s is not Marple's core", path);
        return false;
    }
    core.session = core.open(MRL_CORE_VERSION, mrl.base, mrl.size, (uint64_t)mrl.settings.log << 20, mrl.in_file ? mrl.file : "");
    if (!core.session) {
        snprintf(why, size, "%s belongs to another version of Marple", path);
        return false;
    }
    return true;
}

/* What would keep the core from being opened; its own code is not run. */
static bool possible(char *path, size_t path_size, char *why, size_t size)
{
    if (!core_path(path, path_size))
        snprintf(why, size, "its place is unknown");
    else if (access(path, R_OK))
        snprintf(why, size, "%s: %s", path, strerror(errno));
    else if (!address_space_suffices())
        snprintf(why, size, "the address space limit (ulimit -v) leaves less than 2 GB");
    else if (!threads_can_be_made())
        snprintf(why, size, "no threads can be started (ulimit -u)");
    else
        return true;
    return false;
}

bool mrl_core_possible(char *why, size_t size)
{
    char path[4096];
    return possible(path, sizeof path, why, size);
}

/* True when the core can be called. The first caller opens it; others go without meanwhile. */
bool mrl_core_ready(void)
{
    int state = atomic_load(&core.state);
    if (likely(state == READY))
        return true;
    int unopened = UNOPENED;
    if (state != UNOPENED || getpid() != mrl.pid || !atomic_compare_exchange_strong(&core.state, &unopened, OPENING))
        return false;

    char path[4096], why[sizeof core.why - 32] = "";
    bool ok = false;
    if (possible(path, sizeof path, why, sizeof why)) {
        struct guard g;
        enter(&g);
        ok = load(path, why, sizeof why);
        leave(&g);
    }
    if (!ok) {
        snprintf(core.why, sizeof core.why, "the core cannot be opened: %s", why);
        if (!mrl.in_file)
            mrl_say("%s; there will be no report", core.why);
    }
    atomic_store(&core.state, ok ? READY : UNAVAILABLE);
    return ok;
}

/* Why there is no core; empty as long as one is not known to be missing. */
const char *mrl_core_why(void)
{
    return core.why;
}

/* Go's scheduler borrows the thread's own stack. */
static bool stack_suffices(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (syscall(SYS_gettid) == getpid())
        return true;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return false;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return mrl_stack() - (uintptr_t)low > STACK_NEEDED;
}

/* Storage for as many aggregates again. False: there is no more. */
static bool more_entries(struct mrl_thread *t)
{
    uint32_t more = t->entries_ready ? t->entries_ready : 512;
    if (t->entries_ready + more > MRL_ENTRIES)
        more = MRL_ENTRIES - t->entries_ready;
    uint64_t entries = MRL_THREADS_AT + t->index * (uint64_t)MRL_THREAD_SPAN + MRL_ENTRIES_AT;
    if (!more || !mrl_store_extend(entries + t->entries_ready * MRL_ENTRY_SIZE, more * MRL_ENTRY_SIZE))
        return false;
    t->entries_ready += more;
    return true;
}

/* Aggregates what the thread has spilled, then what its ring holds. False: the core did not take it. */
bool mrl_core_consume(struct mrl_thread *t)
{
    char spill[MRL_SPILL_NAME];
    if (getpid() != mrl.pid || !stack_suffices() || !mrl_core_ready())
        return false;
    bool spilled = atomic_load(&t->spilled) > atomic_load(&t->consumed);
    if (spilled)
        mrl_spill_name(spill, t->index);
    int result;
    do {
        struct guard g;
        enter(&g);
        result = core.consume(core.session, t->index, t, MRL_THREAD_SPAN, spilled ? spill : NULL);
        leave(&g);
    } while (result == MRL_CORE_MORE_ENTRIES && more_entries(t));
    if (result == MRL_CORE_BROKEN && atomic_exchange(&core.state, UNAVAILABLE) == READY)
        snprintf(core.why, sizeof core.why, "the core failed");
    if (result != MRL_CORE_DONE)
        return false;
    if (spilled) {
        unlink(spill);
        t->drop_at = UINT64_MAX;
    }
    return true;
}

static int finish(mrl_core_finish_fn **step, const struct mrl_finish *f)
{
    if (getpid() != mrl.pid || !mrl_core_ready())
        return MRL_CORE_BROKEN;
    struct guard g;
    enter(&g);
    int result = (*step)(core.session, f);
    leave(&g);
    return result;
}

int mrl_core_gather(const struct mrl_finish *f)
{
    return finish(&core.gather, f);
}

bool mrl_core_replay(const struct mrl_finish *f)
{
    return finish(&core.replay, f) == MRL_CORE_DONE;
}

bool mrl_core_conclude(const struct mrl_finish *f)
{
    return finish(&core.conclude, f) == MRL_CORE_DONE;
}
