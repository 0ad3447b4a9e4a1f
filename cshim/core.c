/*
 * Opening and calling the Go core. A Go runtime inside somebody else's process is tolerable only if it
 * leaves no trace there: it is loaded once, before anything is measured, and around everything that runs Go code
 *
 *  - signals are blocked, so that no handler of the application runs on a Go stack, except the
 *    synchronous faults, which the Go runtime turns into panics that the core recovers from; those that
 *    Go's own writing raises end with the call;
 *  - the alternate signal stack is Go's, and a fault's handler tells this thread, whose faults are Go's,
 *    from others, which the application may handle at the same time;
 *  - the floating-point environment is the default one: Go code dies of an application's traps.
 *
 * A forked child never enters, and a machine that cannot carry the runtime keeps its raw records. Threads
 * may be inside at the same time.
 */
#include "core.h"
#include "shield.h"
#include "shim.h"
#include "starts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

_Static_assert(MRL_CORE_THREADS == MRL_THREADS_MAX, "core.h repeats it for Go");

#define HEADROOM_NEEDED (2ull << 30) /* the runtime reserves 1.5 GB of addresses ... */
#define DATA_NEEDED (256ull << 20) /* ... and takes 130 MB of memory that is counted as data ... */
#define HEADROOM_TO_MERGE (128ull << 20) /* ... and kills the process when its heap cannot grow */
#define THREADS_NEEDED 6
#define STACK_NEEDED (128u << 10)
#define OWN_STACK (1u << 20)

enum { UNOPENED, OPENING, READY, UNAVAILABLE };

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { FAULTS = sizeof faults / sizeof *faults, SIGNALS = 64 };

/* What a signal does, as the kernel has it: the C library keeps some signals to itself, and adds flags. */
struct action {
    _Atomic unsigned long handler, flags, restorer, mask;
};
_Static_assert(sizeof(struct action) == 4 * sizeof(long), "struct kernel_sigaction");

static void read_action(int s, struct action *old)
{
    syscall(SYS_rt_sigaction, s, NULL, old, sizeof old->mask);
}

static void set_action(int s, const struct action *new, struct action *old)
{
    syscall(SYS_rt_sigaction, s, new, old, sizeof old->mask);
}

static void copy_action(struct action *to, const struct action *from)
{
    to->handler = from->handler;
    to->flags = from->flags;
    to->restorer = from->restorer;
    to->mask = from->mask;
}

static struct {
    _Atomic int state;
    void *session;
    mrl_core_open_fn *open;
    mrl_core_consume_fn *consume;
    mrl_core_finish_fn *gather, *replay, *conclude;
    char why[MRL_WHY];  /* there is no core */
    _Atomic int inside; /* threads */
    struct action go[FAULTS], application[FAULTS]; /* what they want done about faults */
} core;
static _Thread_local bool inside;
static _Thread_local stack_t go_stack; /* alternate signal stack Go gave this thread */

/* A fault while some thread is inside. Another thread's is handled as if nobody were. */
static void on_fault(int s, siginfo_t *info, void *context)
{
    int i = 0;
    while (faults[i] != s)
        i++;
    struct action *theirs = inside ? &core.go[i] : &core.application[i];
    struct action usual = {.handler = (unsigned long)SIG_DFL};
    if (theirs->handler == (unsigned long)SIG_DFL || theirs->handler == (unsigned long)SIG_IGN) {
        set_action(s, &usual, NULL); /* which happens when the fault repeats itself */
        if (info->si_code <= 0)
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), s);
        return;
    }
    void (*handler)(int, siginfo_t *, void *) = (void (*)(int, siginfo_t *, void *))theirs->handler;
    if (!inside) {
        unsigned long mask;
        memcpy(&mask, &((ucontext_t *)context)->uc_sigmask, sizeof mask);
        mask |= theirs->mask | (theirs->flags & SA_NODEFER ? 0 : 1ul << (s - 1));
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
        if (theirs->flags & SA_RESETHAND)
            theirs->handler = (unsigned long)SIG_DFL;
    }
    handler(s, info, context);
}

/*
 * Whoever comes first puts on_fault in the place of the application's handlers, whoever leaves last puts
 * them back. Without a lock: one who comes while another leaves may find on_fault there and lose it again,
 * and then goes without for this once; the application's handlers are never lost.
 */
static void take_faults(void)
{
    atomic_fetch_add(&core.inside, 1);
    for (int i = 0; i < FAULTS; i++) {
        struct action now, ours;
        read_action(faults[i], &now);
        if (now.handler == (unsigned long)on_fault)
            continue;
        copy_action(&core.application[i], &now);
        copy_action(&ours, &core.go[i]);
        ours.handler = (unsigned long)on_fault;
        set_action(faults[i], &ours, NULL);
    }
    inside = true;
}

static void give_faults_back(void)
{
    inside = false;
    if (atomic_fetch_sub(&core.inside, 1) > 1)
        return;
    for (int i = 0; i < FAULTS; i++) {
        struct action now;
        set_action(faults[i], &core.application[i], &now);
        if (now.handler != (unsigned long)on_fault) /* the application has set another one meanwhile */
            set_action(faults[i], &now, NULL);
    }
}

struct guard { /* what is the application's */
    struct mrl_shield signals;
    fenv_t floating;
    stack_t stack;
};

static void enter(struct guard *g)
{
    mrl_shield(&g->signals);
    feholdexcept(&g->floating);
    fesetenv(FE_DFL_ENV);
    sigaltstack(NULL, &g->stack);
    if (go_stack.ss_sp && !(g->stack.ss_flags & SS_ONSTACK))
        sigaltstack(&go_stack, NULL);
    if (core.go[0].handler)
        take_faults();
}

static void leave(struct guard *g)
{
    if (inside)
        give_faults_back();
    if (!(g->stack.ss_flags & SS_ONSTACK)) {
        sigaltstack(NULL, &go_stack);
        sigaltstack(&g->stack, NULL);
    }
    fesetenv(&g->floating);
    mrl_unshield(&g->signals);
}

struct call {
    void (*step)(void *);
    void *argument;
};

static void make_call(unsigned high, unsigned low)
{
    const struct call *call = (const struct call *)((uintptr_t)high << 32 | low);
    call->step(call->argument);
}

/*
 * At the end no other thread takes the records over, and a fiber or a small stack must not lose the run: what needs
 * more stack than is left gets one of its own. Without memory for one the step is not taken.
 */
static void call_with_stack(void (*step)(void *), void *argument)
{
    struct call call = {step, argument};
    ucontext_t here, there;
    if (mrl_core_stack_suffices()) {
        step(argument);
        return;
    }
    char *stack = mmap(NULL, OWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return;
    mprotect(stack, 4096, PROT_NONE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = OWN_STACK;
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))make_call, 2, (unsigned)((uintptr_t)&call >> 32), (unsigned)(uintptr_t)&call);
    swapcontext(&here, &there);
    munmap(stack, OWN_STACK);
}

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/*
 * The Go runtime aborts the process when it cannot start a thread, so try with our own first: with stacks like
 * Go's, which are the default ones. Smaller ones might not hold the thread-local storage of all libraries.
 */
static bool threads_can_be_made(void)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = mrl_past_tau("pthread_create", pthread_create);
    int (*join)(pthread_t, void **) = mrl_past_tau("pthread_join", pthread_join);
    pthread_t threads[THREADS_NEEDED];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int made = 0;
    pthread_mutex_lock(&gate);
    while (made < THREADS_NEEDED && !create(&threads[made], NULL, pass, &gate))
        made++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < made; i++)
        join(threads[i], NULL);
    return made == THREADS_NEEDED;
}

/* Whether a limit of the process, of addresses or of data (private memory that can be written to), allows so much more. */
static bool left(int resource, uint64_t needed)
{
    struct rlimit limit;
    unsigned long long addresses = 0, data = 0;
    if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return true;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return false;
    int read = fscanf(file, "%llu %*u %*u %*u %*u %llu", &addresses, &data);
    fclose(file);
    return read == 2 && limit.rlim_cur > (resource == RLIMIT_DATA ? data : addresses) * 4096 + needed;
}

/*
 * A program that has all its future memory locked (mlockall) may get no more than that limit allows. Nothing tells that it has,
 * so it is tried, with addresses only.
 */
static bool lockable(uint64_t needed)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return true;
    void *room = mmap(NULL, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room != MAP_FAILED && !munmap(room, needed);
}

/* What is too little for the core to go on: its name and its limit; NULL: nothing. */
static const char *short_of(void)
{
    return !left(RLIMIT_AS, HEADROOM_TO_MERGE)     ? "address space is left (ulimit -v)"
           : !left(RLIMIT_DATA, HEADROOM_TO_MERGE) ? "data is left (ulimit -d)"
           : !lockable(HEADROOM_TO_MERGE)          ? "memory may be locked (ulimit -l), as all of it is to be"
                                                   : NULL;
}

/*
 * The core lies beside this library unless a setting says otherwise. Most of it is for the report: a rank that makes none has
 * a smaller one, or the whole one where that is not installed.
 */
static bool core_path(char *path, size_t size)
{
    if (*mrl.settings.core)
        return snprintf(path, size, "%s", mrl.settings.core) < (int)size;
    if (mrl.header && !mrl_reports() && mrl_beside("libmarple-ranks.so", path, size) && !access(path, R_OK))
        return true;
    return mrl_beside("libmarple-core.so", path, size);
}

static bool load(const char *path, char *why, size_t size)
{
    struct action before[SIGNALS + 1];
    for (int s = 1; s <= SIGNALS; s++)
        read_action(s, &before[s]);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) {
        *(void **)&core.open = dlsym(library, MRL_CORE_OPEN);
        *(void **)&core.consume = dlsym(library, MRL_CORE_CONSUME);
        *(void **)&core.gather = dlsym(library, MRL_CORE_GATHER);
        *(void **)&core.replay = dlsym(library, MRL_CORE_REPLAY_WAITS);
        *(void **)&core.conclude = dlsym(library, MRL_CORE_CONCLUDE);
        for (int i = 0; i < FAULTS; i++)
            read_action(faults[i], &core.go[i]);
        for (int s = 1; s <= SIGNALS; s++)
            set_action(s, &before[s], NULL);
        take_faults();
    } else {
        const char *error = dlerror();
        snprintf(why, size, "%s", error ? error : "unknown error");
        return false;
    }
    if (!core.open) {
        snprintf(why, size, "%s is not Marple's core", path);
        return false;
    }
    core.session = core.open(MRL_CORE_VERSION, mrl.base, mrl.size, (uint64_t)mrl.settings.log << 20, mrl.settings.trace != 0,
                             (uint64_t)mrl.settings.invocations << 20, mrl.raw_place, mrl.in_file ? mrl.file : "");
    if (!core.session || !core.consume || !core.gather || !core.replay || (mrl_reports() && !core.conclude)) {
        snprintf(why, size, "it is of another version than libmarple.so: install marple and all of libmarple*.so of one build%s (%s)",
                 *mrl.settings.core ? ", and unset MARPLE_CORE" : "", path);
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
    else if (!left(RLIMIT_AS, HEADROOM_NEEDED))
        snprintf(why, size, "the address space limit (ulimit -v) leaves less than 2 GB");
    else if (!left(RLIMIT_DATA, DATA_NEEDED))
        snprintf(why, size, "the limit of data (ulimit -d) leaves less than 256 MB");
    else if (!lockable(HEADROOM_NEEDED))
        snprintf(why, size, "all memory is to be locked, and the limit of that (ulimit -l) leaves less than 2 GB");
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

static void open_core(void *result)
{
    char path[4096], why[sizeof core.why - 32] = "";
    struct guard g;
    enter(&g);
    bool ok = possible(path, sizeof path, why, sizeof why) && load(path, why, sizeof why);
    leave(&g);
    if (!ok)
        snprintf(core.why, sizeof core.why, "the core cannot be opened: %s", why);
    *(bool *)result = ok;
}

/* True when the core can be called. The first caller opens it; others go without meanwhile. */
bool mrl_core_ready(void)
{
    int state = atomic_load(&core.state);
    if (likely(state == READY))
        return !mrl.confined;
    int unopened = UNOPENED;
    if (state != UNOPENED || mrl.confined || getpid() != mrl.pid || !atomic_compare_exchange_strong(&core.state, &unopened, OPENING))
        return false;

    bool ok = false;
    call_with_stack(open_core, &ok);
    atomic_store(&core.state, ok ? READY : UNAVAILABLE);
    return ok;
}

/*
 * Opens it before anything is measured, so that no first full buffer stops the program. Where addresses are limited, which it
 * takes many of, it is opened as late as can be. True: it is open.
 */
bool mrl_core_begin(void)
{
    struct rlimit limit;
    bool unlimited = !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur == RLIM_INFINITY;
    return unlimited && mrl_core_stack_suffices() && mrl_core_ready();
}

/* Why there is no core; empty as long as one is not known to be missing. */
const char *mrl_core_why(void)
{
    return core.why;
}

/* The same as mrl_core_ready, for what takes memory. */
bool mrl_core_ready_to_merge(void)
{
    const char *little = NULL;
    bool ready = mrl_core_ready() && !(little = short_of());
    if (little && !*core.why)
        snprintf(core.why, sizeof core.why, "too little %s", little);
    return ready;
}

/* Go's scheduler borrows the thread's own stack; signal stacks and those of fibers are too small for it. */
bool mrl_core_stack_suffices(void)
{
    uintptr_t low, high;
    if (!mrl_stack_bounds(&low, &high))
        return false;
    uintptr_t sp = mrl_stack();
    return sp < high && sp > low && sp - low > STACK_NEEDED;
}

/* Storage for as many aggregates again, or none ever. */
static void more_entries(struct mrl_thread *t)
{
    uint32_t more = t->entries_ready;
    if (t->entries_ready + more > MRL_ENTRIES)
        more = MRL_ENTRIES - t->entries_ready;
    uint64_t entries = MRL_THREADS_AT + t->index * (uint64_t)MRL_THREAD_SPAN + MRL_ENTRIES_AT;
    if (more && mrl_store_extend(entries + t->entries_ready * MRL_ENTRY_SIZE, more * MRL_ENTRY_SIZE))
        t->entries_ready += more;
    else
        t->entries_full = 1;
}

/* Says where the stack of a core that failed is kept; false if it has not left one. */
static MRL_COLD bool tell_panic(void)
{
    char name[sizeof mrl.file + sizeof MRL_CORE_PANIC];
    snprintf(name, sizeof name, "%s" MRL_CORE_PANIC, mrl.file);
    int fd = mrl.in_file ? mrl_raw_open(name, O_RDONLY) : -1;
    if (fd < 0)
        return false;
    close(fd);
    snprintf(core.why, sizeof core.why, "the core failed, see raw/%s", name);
    return true;
}

/* Aggregates what the thread has spilled, then what its ring holds. */
static __attribute__((noinline)) bool consume(struct mrl_thread *t)
{
    char spill[MRL_SPILL_NAME], suffix[sizeof spill];
    uint64_t consumed = atomic_load(&t->consumed);
    bool spilled = atomic_load(&t->spilled) > consumed, in_file = spilled && t->drop_at > consumed;
    if (in_file) {
        mrl_spill_name(spill, t->index);
        snprintf(suffix, sizeof suffix, MRL_SPILL_SUFFIX, t->index);
    }
    int result;
    for (;;) {
        struct guard g;
        enter(&g);
        result = core.consume(core.session, t->index, t, MRL_THREAD_SPAN, in_file ? suffix : NULL);
        leave(&g);
        if (result != MRL_CORE_MORE_ENTRIES || t->entries_full)
            break;
        more_entries(t);
    }
    if (result == MRL_CORE_BROKEN && atomic_exchange(&core.state, UNAVAILABLE) == READY && !tell_panic())
        snprintf(core.why, sizeof core.why, "the core failed");
    if (result != MRL_CORE_DONE)
        return false;
    if (in_file)
        mrl_raw_remove(spill);
    if (spilled)
        t->drop_at = UINT64_MAX;
    return true;
}

/* False: the core did not take it. */
bool mrl_core_consume(struct mrl_thread *t)
{
    return getpid() == mrl.pid && mrl_core_stack_suffices() && mrl_core_ready() && !short_of() && consume(t);
}

static void consume_rest(void *thread)
{
    consume(thread);
}

/* The same at the end, with whatever stack there is left. */
void mrl_core_consume_rest(struct mrl_thread *t)
{
    if (getpid() == mrl.pid && mrl_core_ready_to_merge())
        call_with_stack(consume_rest, t);
}

struct finishing {
    mrl_core_finish_fn *step;
    struct mrl_finish *finish;
    int result;
};

static void take_step(void *data)
{
    struct finishing *f = data;
    struct guard g;
    enter(&g);
    f->result = f->step(core.session, f->finish);
    leave(&g);
}

static int finish(mrl_core_finish_fn **step, struct mrl_finish *f)
{
    if (getpid() != mrl.pid || !mrl_core_ready() || !*step)
        return MRL_CORE_BROKEN;
    struct finishing finishing = {*step, f, MRL_CORE_BROKEN};
    f->why[0] = 0;
    call_with_stack(take_step, &finishing);
    if (f->why[0])
        snprintf(core.why, sizeof core.why, "%s", f->why);
    else if (finishing.result == MRL_CORE_BROKEN) /* or records of some ranks are in files only, which they say */
        tell_panic();
    return finishing.result;
}

int mrl_core_gather(struct mrl_finish *f)
{
    return finish(&core.gather, f);
}

bool mrl_core_replay(struct mrl_finish *f)
{
    return finish(&core.replay, f) == MRL_CORE_DONE;
}

bool mrl_core_conclude(struct mrl_finish *f)
{
    return finish(&core.conclude, f) == MRL_CORE_DONE;
}
