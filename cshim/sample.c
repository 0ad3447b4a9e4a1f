#include "sample.h"
#include "shield.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS 256u        /* sampled at a time */
#define TRAILS 256u         /* different stacks a thread keeps until they are written */
#define LOOK_NS 100000000u /* between two looks for new threads */

struct table {
    uint32_t count;
    uint32_t lost; /* samples that found it full */
    uint64_t periods;
    uint32_t generation; /* of the modules, when it was begun */
};

/*
 * One thread's. The handler writes to one of two tables; whoever wants what is there has it take the other from then
 * on, and looks at the first when the handler is seen to be out of it.
 */
struct mrl_sampling {
    _Atomic int tid;                   /* 0: nobody's */
    struct mrl_thread *_Atomic thread; /* NULL: it has no records of its own */
    int timer;                         /* as the kernel counts */
    _Atomic bool busy, any;
    _Atomic uint32_t turn;
    bool left;  /* the table of the last turn has not been looked at */
    bool ended;
    bool seen;
    bool bounded; /* low and high are known */
    uintptr_t low, high; /* its stack */
    struct table tables[2];
    struct mrl_walk walk;
    struct mrl_unwinder unwinder;
    struct mrl_python_codes codes[2]; /* of the tables' trails */
    char trails[]; /* 2 * TRAILS + 1, the last of which is being made */
};

static struct {
    int signal;
    uint32_t frames, pythons;
    size_t trail, size; /* bytes of a trail, and of a thread's part */
    uintptr_t low, high; /* Marple's own code */
    uint64_t looked;
    pid_t main;
    struct mrl_sampling *_Atomic threads[THREADS];
} sampling;

static struct mrl_trail *trail_at(struct mrl_sampling *s, uint32_t turn, uint32_t i)
{
    return (struct mrl_trail *)(s->trails + (size_t)((turn & 1) * TRAILS + i) * sampling.trail);
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Reads a file of the kernel's from within a handler, at most size - 1 bytes. */
static size_t read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : mrl_read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static const char *hexadecimal(const char *text, uint64_t *value)
{
    for (*value = 0;; text++) {
        unsigned digit = (unsigned)(*text - '0') < 10 ? (unsigned)(*text - '0') : (unsigned)(*text - 'a') < 6 ? (unsigned)(*text - 'a') + 10 : 16;
        if (digit == 16)
            return text;
        *value = *value << 4 | digit;
    }
}

/*
 * The stack that holds an address, as the kernel maps it, up to the C library's own data about the thread, which lie
 * at its upper end. What is between them can be read.
 */
static void find_stack(struct mrl_sampling *s, uintptr_t sp)
{
    uintptr_t self = (uintptr_t)pthread_self();
    char text[512];
    size_t kept = 0;
    bool begun = true; /* `text` begins with a line */
    s->bounded = true;
    s->low = s->high = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (ssize_t n; (n = mrl_read(fd, text + kept, sizeof text - 1 - kept)) > 0;) {
        size_t length = kept + (size_t)n;
        char *line = text, *end;
        text[length] = 0;
        while ((end = memchr(line, '\n', length - (size_t)(line - text)))) {
            uint64_t low, high;
            const char *next = hexadecimal(line, &low);
            if (begun && *next == '-' && *hexadecimal(next + 1, &high) == ' ' && low <= sp && sp < high && self > sp && self <= high) {
                s->low = (uintptr_t)low;
                s->high = self;
            }
            begun = true;
            line = end + 1;
        }
        kept = length - (size_t)(line - text);
        if (kept > sizeof text / 2) { /* a long name: what it says is known */
            begun = begun && false;
            kept = 0;
        }
        memmove(text, line, kept);
    }
    close(fd);
}

static bool ours(uintptr_t pc)
{
    return pc - sampling.low < sampling.high - sampling.low;
}

/* Python's functions that the thread is in, wherever the interpreter is just now. */
static void python_functions(struct mrl_trail *trail, struct mrl_python_codes *codes)
{
    struct mrl_python_stack functions = {.room = sampling.pythons, .frames = mrl_trail_python(trail, sampling.frames)};
    if (!atomic_load_explicit(&mrl.python, memory_order_relaxed))
        return;
    mrl_python_walk(&functions, codes);
    trail->pythons = functions.count;
    trail->python_end = functions.end;
    if (functions.end == MRL_PYTHON_BROKEN)
        trail->how = MRL_WALK_UNKNOWN;
    for (uint32_t i = 0; i < functions.count; i++) {
        const struct mrl_python_frame *f = &functions.frames[i];
        trail->hash = (trail->hash ^ codes->list[f->code].at ^ codes->list[f->code].mark) * UINT64_C(0x9e3779b97f4a7c15);
        trail->hash = (trail->hash ^ trail->hash >> 32 ^ f->next) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

/* Follows the interrupted stack. False: it is Marple's own work. */
static bool walk(struct mrl_sampling *s, const void *context, struct mrl_trail *trail, struct mrl_python_codes *codes)
{
    struct mrl_walk *w = &s->walk;
    mrl_walk_interrupted(w, context, 0);
    uintptr_t sp = w->value[MRL_SP];
    if (!s->bounded)
        find_stack(s, sp);
    bool known = sp >= s->low && sp < s->high;
    w->high = s->high;
    *trail = (struct mrl_trail){.how = MRL_WALK_LIMITED, .base = sp, .hash = 1};
    while (trail->count < sampling.frames) {
        uintptr_t pc = w->pc + w->interrupted; /* as if by a return */
        uint32_t i = trail->count++;
        if (ours(pc - 1))
            return false;
        trail->frames[i].pc = pc;
        trail->frames[i].top = 0;
        trail->hash = (trail->hash ^ pc) * UINT64_C(0x9e3779b97f4a7c15);
        trail->hash ^= trail->hash >> 32;
        const struct mrl_rule *rule = mrl_rule(&s->unwinder, pc, false);
        if (rule->flags & MRL_RULE_LAST) {
            trail->how = MRL_WALK_WHOLE;
            break;
        }
        if (!known || !mrl_walk_step(w, &s->unwinder, rule)) {
            trail->how = w->pc ? MRL_WALK_UNKNOWN : MRL_WALK_WHOLE;
            break;
        }
        trail->frames[i].top = w->value[MRL_SP];
        trail->hash ^= w->value[MRL_SP];
    }
    trail->beyond = w->pc + w->interrupted;
    python_functions(trail, codes);
    return true;
}

static void keep(struct mrl_sampling *s, const struct mrl_trail *trail, uint32_t turn, uint32_t periods)
{
    uint32_t i = 0;
    struct table *table = &s->tables[turn & 1];
    while (i < table->count && trail_at(s, turn, i)->hash != trail->hash)
        i++;
    if (i == TRAILS || trail->python_end == MRL_PYTHON_FULL) {
        table->lost++;
        table->periods += periods;
        return;
    }
    struct mrl_trail *place = trail_at(s, turn, i);
    if (i == table->count) {
        if (i == 0)
            table->generation = atomic_load_explicit(&mrl_generation, memory_order_relaxed);
        memcpy(place, trail, sizeof *trail + trail->count * sizeof trail->frames[0]);
        if (trail->pythons) {
            struct mrl_python_stack functions = {.count = trail->pythons, .frames = mrl_trail_python(place, sampling.frames)};
            memcpy(functions.frames, mrl_trail_python(trail, sampling.frames), functions.count * sizeof *functions.frames);
            mrl_python_lines(&functions, &s->codes[turn & 1]);
        }
        table->count++;
    }
    place->samples++;
    place->periods += periods;
}

static struct mrl_sampling *find(pid_t tid)
{
    for (unsigned i = 0; i < THREADS; i++) {
        struct mrl_sampling *s = atomic_load_explicit(&sampling.threads[i], memory_order_acquire);
        if (s && atomic_load_explicit(&s->tid, memory_order_relaxed) == tid && !s->ended)
            return s;
    }
    return NULL;
}

static bool start_timer(struct mrl_sampling *s, pid_t tid, int number)
{
    enum { PER_THREAD_CPU = 6 }; /* of a thread's clock, as the kernel makes them of its number */
    int64_t period = 1000000000 / mrl.settings.sample;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sampling.signal, .sigev_value.sival_int = number};
    struct itimerspec every = {.it_interval = {.tv_sec = period / 1000000000, .tv_nsec = period % 1000000000}};
    every.it_value = every.it_interval;
    event._sigev_un._tid = tid;
    if (syscall(SYS_timer_create, (clockid_t)((~(unsigned)tid) << 3 | PER_THREAD_CPU), &event, &s->timer))
        return false;
    return syscall(SYS_timer_settime, s->timer, 0, &every, NULL) == 0;
}

/* Begins to sample a thread; in a handler, too. NULL: it cannot be. */
static struct mrl_sampling *adopt(pid_t tid, struct mrl_thread *t)
{
    for (unsigned i = 0; i < THREADS; i++) {
        struct mrl_sampling *s = atomic_load(&sampling.threads[i]), *none = NULL;
        int nobody = 0;
        if (!s) {
            s = mmap(NULL, sampling.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (s == MAP_FAILED)
                break;
            s->unwinder.frozen = true;
            s->tid = tid;
            if (!atomic_compare_exchange_strong(&sampling.threads[i], &none, s)) {
                munmap(s, sampling.size);
                continue;
            }
        } else if (!atomic_compare_exchange_strong(&s->tid, &nobody, tid)) {
            continue;
        }
        s->ended = s->bounded = false;
        s->seen = true;
        atomic_store(&s->thread, t);
        if (t) {
            s->low = t->paths->low;
            s->high = t->paths->high;
            s->bounded = true;
        }
        if (start_timer(s, tid, (int)i))
            return s;
        atomic_store(&s->tid, 0);
        break;
    }
    count(&mrl.header->threads_unsampled, 1);
    return NULL;
}

/* Whether a thread takes the signal: one that blocks it may be waiting for signals of all kinds. */
static bool takes_signal(const char *tid)
{
    char path[64] = "/proc/self/task/", text[2048];
    strncat(path, tid, 20);
    strcat(path, "/status");
    if (!read_text(path, text, sizeof text))
        return false;
    const char *line = strstr(text, "SigBlk:\t");
    uint64_t blocked = 0;
    if (line)
        hexadecimal(line + 8, &blocked);
    return line && !(blocked >> (sampling.signal - 1) & 1);
}

static void end_timer(struct mrl_sampling *s)
{
    if (s->ended)
        return;
    s->ended = true;
    syscall(SYS_timer_delete, s->timer);
}

/* Looks which threads there are; in the main thread's handler, where it may be the only one with something to do. */
static void look_for_threads(void)
{
    struct entry {
        uint64_t inode, offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(8) char list[1024];
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (unsigned i = 0; i < THREADS; i++)
        if (sampling.threads[i])
            sampling.threads[i]->seen = false;
    for (long n; (n = syscall(SYS_getdents64, fd, list, sizeof list)) > 0;)
        for (long at = 0; at < n; at += ((struct entry *)(list + at))->length) {
            const char *name = ((struct entry *)(list + at))->name;
            pid_t tid = 0;
            for (const char *c = name; *c >= '0' && *c <= '9'; c++)
                tid = tid * 10 + (*c - '0');
            struct mrl_sampling *s = tid ? find(tid) : NULL;
            if (s)
                s->seen = true;
            else if (tid && takes_signal(name))
                adopt(tid, NULL);
        }
    close(fd);
    for (unsigned i = 0; i < THREADS; i++) {
        struct mrl_sampling *s = sampling.threads[i];
        if (s && s->tid && !s->seen && !s->thread)
            end_timer(s);
    }
}

static void sample(struct mrl_sampling *s, uint32_t periods, void *context)
{
    struct mrl_thread *t = atomic_load_explicit(&s->thread, memory_order_relaxed);
    struct mrl_trail *trail = trail_at(s, 0, 2 * TRAILS);
    count(&mrl.header->samples, 1);
#if defined(__x86_64__)
    uintptr_t sp = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#else
    uintptr_t sp = ((const ucontext_t *)context)->uc_mcontext.sp;
#endif
    if (s->busy || (t && mrl_within(t, sp))) {
        count(&mrl.header->samples_inside, 1);
        return;
    }
    uint64_t begin = mrl_now();
    atomic_store(&s->busy, true);
    uint32_t turn = atomic_load(&s->turn);
    if (walk(s, context, trail, &s->codes[turn & 1])) {
        keep(s, trail, turn, periods);
        s->any = true;
    } else {
        count(&mrl.header->samples_inside, 1);
        t = NULL;
    }
    atomic_store(&s->busy, false);
    if (s->tid == sampling.main && begin - sampling.looked > mrl_ns_to_ticks(LOOK_NS)) {
        sampling.looked = begin;
        look_for_threads();
    }
    if (t)
        mrl_took(t, mrl_now() - begin + 1);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    int error = errno, at = info->si_value.sival_int;
    struct mrl_sampling *s = info->si_code == SI_TIMER && at >= 0 && at < (int)THREADS ? sampling.threads[at] : NULL;
    if (s && mrl.sampling && s->tid == (int)syscall(SYS_gettid)) {
        int cancel = mrl_defer();
        sample(s, 1 + (uint32_t)info->si_overrun, context);
        mrl_undefer(cancel);
    }
    errno = error;
}

/* What a thread's handler has kept, if it is out of it; then the table is clean again. */
static bool take(struct mrl_sampling *s, uint32_t *turn)
{
    if (!s->left) {
        if (!s->any)
            return false;
        s->any = false;
        atomic_fetch_add(&s->turn, 1);
        s->left = true;
    }
    if (atomic_load(&s->busy))
        return false;
    *turn = atomic_load(&s->turn) - 1;
    return true;
}

/* Places that were found, with how many samples; the last is for those that are not known. */
struct places {
    uint32_t count;
    struct mrl_sampled list[MRL_PLACES];
};

static void add(struct places *p, uint32_t node, uint64_t samples, uint64_t periods, bool elsewhere)
{
    uint32_t i = 0;
    while (i < p->count && p->list[i].path != node)
        i++;
    if (i == p->count && p->count >= MRL_PLACES - 1 && node != MRL_ROOT_NODE) {
        count(&mrl.header->samples_lost, samples);
        add(p, MRL_ROOT_NODE, samples, periods, elsewhere);
        return;
    }
    if (i == p->count)
        p->list[p->count++] = (struct mrl_sampled){.path = node, .kind = MRL_SAMPLED, .flags = elsewhere ? MRL_ELSEWHERE : 0};
    p->list[i].samples += samples;
    p->list[i].periods += periods;
}

static void write_places(struct mrl_thread *t, const struct places *p)
{
    uint64_t at = mrl_head(t);
    for (uint32_t i = 0; i < p->count; i++)
        mrl_slot(t, at++)->sampled = p->list[i];
    atomic_store_explicit(&t->head, at, memory_order_release);
}

/* Where most of what is left was: places may be more than find room. NULL: nothing is left. */
static struct mrl_trail *most_sampled(struct mrl_sampling *s, uint32_t turn)
{
    struct mrl_trail *most = NULL;
    for (uint32_t i = 0; i < s->tables[turn & 1].count; i++) {
        struct mrl_trail *trail = trail_at(s, turn, i);
        if (trail->samples > (most ? most->samples : 0))
            most = trail;
    }
    return most;
}

/* Writes one thread's. There may be more of them when `whole` is not wanted; false: there are not. */
static void write_of(struct mrl_thread *t, struct mrl_sampling *s, bool elsewhere, bool whole)
{
    struct places places = {0};
    uint32_t turn;
    if (!take(s, &turn))
        return;
    struct table *table = &s->tables[turn & 1];
    mrl_unwind_refresh(); /* what was loaded since */
    bool same = table->generation == atomic_load_explicit(&mrl_generation, memory_order_relaxed);
    for (struct mrl_trail *trail; (trail = most_sampled(s, turn));) {
        uint32_t node = same ? mrl_path_trail(t, trail, &s->codes[turn & 1], elsewhere) : MRL_ROOT_NODE;
        if (whole && places.count >= MRL_PLACES - 1) {
            write_places(t, &places);
            places.count = 0;
            if (mrl_head(t) >= t->flush_at)
                mrl_flush(t);
        }
        add(&places, node, trail->samples, trail->periods, elsewhere);
        trail->samples = 0;
    }
    if (table->lost) {
        add(&places, MRL_ROOT_NODE, table->lost, table->periods, elsewhere);
        count(&mrl.header->samples_lost, table->lost);
    }
    *table = (struct table){0};
    s->codes[turn & 1].count = 0;
    s->left = false;
    write_places(t, &places);
}

/* What threads have that write nothing themselves. */
static void write_others(struct mrl_thread *t, bool all, bool flush)
{
    for (unsigned i = 0; i < THREADS; i++) {
        struct mrl_sampling *s = sampling.threads[i];
        if (!s || !s->tid || atomic_load(&s->thread) == t || (atomic_load(&s->thread) && !all))
            continue;
        while ((s->any || s->left) && (flush || mrl_head(t) + 2 * MRL_PLACES < t->flush_at)) {
            bool left = s->left;
            write_of(t, s, true, flush);
            if (s->left && left)
                break; /* its handler is in it */
        }
        if (s->ended && !s->any && !s->left)
            atomic_store(&s->tid, 0);
    }
}

void mrl_samples_write(struct mrl_thread *t)
{
    struct mrl_sampling *s = t->paths->sampling;
    if (s && s->any)
        write_of(t, s, false, false);
    if (t->main_thread)
        write_others(t, false, false);
}

void mrl_samples_thread_begin(struct mrl_thread *t)
{
    pid_t tid = (pid_t)t->os_tid;
    struct mrl_sampling *s = find(tid);
    if (s) {
        s->low = t->paths->low;
        s->high = t->paths->high;
        s->bounded = true;
        atomic_store(&s->thread, t);
    } else {
        s = adopt(tid, t);
    }
    t->paths->sampling = s;
}

void mrl_samples_thread_end(struct mrl_thread *t)
{
    struct mrl_sampling *s = t->paths ? t->paths->sampling : NULL;
    if (!s)
        return;
    end_timer(s);
    t->paths->sampling = NULL;
    atomic_store(&s->thread, NULL);
}

/* A real-time signal that nobody has a use for. */
static int free_signal(void)
{
    sigset_t blocked;
    struct sigaction now;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int s = SIGRTMAX - 1; s >= SIGRTMIN; s--)
        if (!sigismember(&blocked, s) && !sigaction(s, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
            return s;
    return 0;
}

static int (*next_sigaction(void))(int, const struct sigaction *, struct sigaction *)
{
    static int (*_Atomic next)(int, const struct sigaction *, struct sigaction *);
    int (*found)(int, const struct sigaction *, struct sigaction *) = atomic_load_explicit(&next, memory_order_relaxed);
    if (!found) {
        *(void **)&found = dlsym(RTLD_NEXT, "sigaction");
        atomic_store_explicit(&next, found, memory_order_relaxed);
    }
    return found;
}

void mrl_samples_begin(struct mrl_thread *t)
{
    if (!mrl.settings.sample)
        return;
    if (mrl.external || !mrl_frames_most()) {
        mrl_say("no samples are taken: %s", mrl.external ? "time is simulated" : "call paths are off");
        return;
    }
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sampling.signal = free_signal();
    sampling.frames = mrl_frames_most();
    sampling.pythons = mrl_pythons_most();
    sampling.trail = sizeof(struct mrl_trail) + sampling.frames * sizeof(((struct mrl_trail *)0)->frames[0]) +
                     sampling.pythons * sizeof(struct mrl_python_frame);
    sampling.size = sizeof(struct mrl_sampling) + (2 * TRAILS + 1) * sampling.trail;
    sampling.main = (pid_t)t->os_tid;
    if (!sampling.signal) {
        mrl_say("no samples are taken: the program uses all real-time signals");
        return;
    }
    if (!mrl_unwind_module((uintptr_t)mrl_samples_begin, &sampling.low, &sampling.high) ||
        next_sigaction()(sampling.signal, &action, NULL))
        return;
    mrl.sampling = true;
    mrl_samples_thread_begin(t);
    if (!t->paths->sampling) {
        mrl_samples_stop();
        mrl_say("no samples are taken: there are no timers of CPU time");
        return;
    }
    mrl.header->sample_hz = (uint64_t)mrl.settings.sample;
    look_for_threads();
    sampling.looked = mrl_now();
}

static void give_back(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    next_sigaction()(sampling.signal, &action, NULL);
}

/* A pending signal goes with being ignored once: by default it would end the process. */
void mrl_samples_stop(void)
{
    if (!mrl.sampling)
        return;
    mrl.sampling = false;
    for (unsigned i = 0; i < THREADS; i++)
        if (sampling.threads[i] && sampling.threads[i]->tid)
            end_timer(sampling.threads[i]);
    struct sigaction action = {.sa_handler = SIG_IGN};
    next_sigaction()(sampling.signal, &action, NULL);
    give_back();
}

void mrl_samples_forked(void)
{
    if (mrl.sampling)
        give_back();
    mrl.sampling = false;
}

void mrl_samples_finish(struct mrl_thread *t)
{
    if (!sampling.signal)
        return;
    mrl_samples_stop();
    if (t)
        write_others(t, true, true);
}

/*
 * The program wants the signal for itself: it gets it, as if nobody had used it. The C library's own functions for
 * handlers come by here, too.
 */
static void yield(int number)
{
    if (unlikely(mrl.sampling) && number == sampling.signal) {
        mrl_samples_stop();
        mrl.header->samples_ended = 1;
        mrl_say("samples end here: the program itself has a use for signal %d", number);
    }
}

#define MRL_PUBLIC __attribute__((visibility("default")))

MRL_PUBLIC int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    bool hidden = mrl.sampling && number == sampling.signal && !new && old;
    if (new)
        yield(number);
    int rc = next_sigaction()(number, new, old);
    if (hidden && !rc)
        memset(old, 0, sizeof *old);
    return rc;
}

#define SETS_HANDLER(name)                                                                          \
    void (*name(int number, void (*handler)(int)))(int);                                            \
    MRL_PUBLIC void (*name(int number, void (*handler)(int)))(int)                                  \
    {                                                                                               \
        static void (*(*_Atomic next)(int, void (*)(int)))(int);                                    \
        void (*(*found)(int, void (*)(int)))(int) = atomic_load_explicit(&next, memory_order_relaxed); \
        yield(number);                                                                              \
        if (!found) {                                                                               \
            *(void **)&found = dlsym(RTLD_NEXT, #name);                                             \
            if (!found)                                                                             \
                return SIG_ERR;                                                                     \
            atomic_store_explicit(&next, found, memory_order_relaxed);                              \
        }                                                                                           \
        return found(number, handler);                                                              \
    }

SETS_HANDLER(signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)
SETS_HANDLER(sigset)
