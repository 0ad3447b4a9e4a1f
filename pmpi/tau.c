/*
 * Marple as a plugin of TAU. TAU's own instrumentation says what happens: its timers, messages, atomic events and
 * metadata become the same records that interception makes, and everything behind them is the same.
 *
 * A timer that is called like an MPI function is a call of it; any other is a region. Whichever is met first, a
 * call seen by TAU or one seen by interception, takes the other that lies inside it for its own affair: so nothing
 * counts twice where both are in the process.
 *
 * What TAU does not tell: which posted receive a message completes, and so it is taken to be the first that is not
 * complete yet; of collective operations, mostly, the communicator. Until the process makes one it can only
 * be MPI_COMM_WORLD, but for the rare use of MPI_COMM_SELF.
 */
#include "tau.h"
#include "calls.h"
#include "lifecycle.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IN_TAU UINTPTR_MAX /* struct mrl_thread, inside: everything is inside a call that TAU has announced */
#define MESSAGES 4096u     /* of one call; further ones are counted */
#define POSTED 1024u       /* receives; of more the first are forgotten */

struct message {
    int32_t peer, tag;
    int64_t bytes;
    bool sent;
};

struct posted {
    uint32_t number, path;
};

enum { UNTOLD = -1, ELSEWHERE = -2 };

/* What a thread has been told of the call that it is in, and of phases. */
struct told {
    uint64_t start;
    uintptr_t sp;
    enum mrl_function_id function;
    uint32_t same;      /* calls of the same function inside it */
    int64_t out, in;    /* bytes as TAU counts them, of a collective operation; UNTOLD */
    mrl_word comm;      /* likewise */
    int32_t root;       /* likewise */
    uint32_t count;     /* messages */
    uint32_t unopened;  /* regions nested too deeply to be open */
    bool phase[MRL_DEPTH]; /* open regions that a phase began, and no timer */
    bool fresh;            /* the last one was opened by the last event */
    uint64_t waiting, waited;    /* ticks: since when in the barrier that TAU puts before the operation, and how long */
    const char *grouped[64];     /* names of timers whose groups are known */
    struct message messages[MESSAGES];
    struct posted posted[POSTED];
    uint32_t first, next; /* of those that are not complete */
};

static struct told *_Atomic all[MRL_THREADS_MAX];
static _Atomic bool made_communicators;

static struct told *told_to(struct mrl_thread *t)
{
    struct told *told = atomic_load_explicit(&all[t->index], memory_order_relaxed);
    if (likely(told))
        return told;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (told == MAP_FAILED)
        return NULL;
    atomic_store_explicit(&all[t->index], told, memory_order_relaxed);
    return told;
}

/* The calling thread, if it is measured. */
static struct mrl_thread *this_thread(void)
{
    if (!atomic_load_explicit(&mrl.hooks, memory_order_relaxed))
        return NULL;
    return mrl_self ? mrl_self : mrl_attach();
}

/* ... and is not in a call that was intercepted. */
static struct mrl_thread *thread_outside(struct told **told)
{
    struct mrl_thread *t = this_thread();
    if (!t || (t->inside != IN_TAU && mrl_stack() < t->inside) || !(*told = told_to(t)))
        return NULL;
    return t;
}

enum { NO_CALL = -1, UNFOLLOWED = -2 };

static const char top_level[] = ".TAU application"; /* the whole program */
static const char barrier[] = "MPI Collective Sync"; /* TAU's own, inside a collective operation, before the library's */
static const char inquiry[] = "TAU_GET_EVENT_VALUES()"; /* ours: see exact_values */
#define MRL_WAITED "MPI Collective Sync (ns)"          /* as analysis/run knows it */

static bool in_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The function that a timer is called like: "MPI_Send()". UNFOLLOWED if it is one that is not intercepted either. */
static int function_of(const char *name)
{
    static _Atomic(uint16_t) table[1024]; /* function + 1 */
    if (strncmp(name, "MPI_", 4))
        return NO_CALL;
    uint32_t hash = 0, length = 0;
    for (; in_name(name[length]); length++)
        hash = hash * 31 + (unsigned char)name[length];
    if (name[length] && name[length] != '(' && name[length] != ' ')
        return NO_CALL;
    _Static_assert(MRL_FUNCTIONS * 3 / 2 < sizeof table / sizeof *table, "");
    for (uint32_t slot = hash % 1024;; slot = (slot + 1) % 1024) {
        uint16_t f = atomic_load_explicit(&table[slot], memory_order_relaxed);
        if (!f)
            break;
        const char *known = mrl_function_facts[f - 1].name;
        if (strncmp(known, name, length) == 0 && !known[length])
            return f - 1;
    }
    for (int f = 0; f < MRL_FUNCTIONS; f++) {
        const char *known = mrl_function_facts[f].name;
        if (strncmp(known, name, length) || known[length])
            continue;
        uint16_t none = 0;
        for (uint32_t slot = hash % 1024; !atomic_compare_exchange_strong(&table[slot], &none, (uint16_t)(f + 1)) && none != f + 1;
             slot = (slot + 1) % 1024)
            none = 0;
        return f;
    }
    return UNFOLLOWED;
}

static bool is_collective(uint8_t op)
{
    return op >= MRL_OP_BARRIER && op <= MRL_OP_NEIGHBOR;
}

static bool sends(uint8_t op)
{
    return (op >= MRL_OP_SEND && op <= MRL_OP_RSEND) || op == MRL_OP_SENDRECV;
}

static uint32_t world(void)
{
    return mrl_map_get(&mrl_comms, mrl_handle(mrl_abi.comm_world));
}

static uint32_t communicator(const struct told *told)
{
    if (told->comm == (mrl_word)ELSEWHERE)
        return 0;
    if (told->comm != (mrl_word)UNTOLD)
        return mrl_map_get(&mrl_comms, mrl_handle(told->comm));
    return atomic_load_explicit(&made_communicators, memory_order_relaxed) ? 0 : world();
}

/*
 * What TAU calls the size of a collective operation: bytes out and in per byte of it. N stands for the size of
 * the communicator. Others count as one of each.
 */
enum { N = -1 };
static const struct {
    enum mrl_function_id function;
    int out, in;
} sizes[] = {
    {MRL_FN_MPI_Allgather, 1, N}, {MRL_FN_MPI_Allgatherv, 0, 1}, {MRL_FN_MPI_Alltoall, N, N},  {MRL_FN_MPI_Alltoallv, 1, 0},
    {MRL_FN_MPI_Gather, 1, N},    {MRL_FN_MPI_Gatherv, 0, 1},    {MRL_FN_MPI_Scatter, N, 1}, {MRL_FN_MPI_Scatterv, 1, 0},
};

static int64_t times(int64_t size, int factor, uint32_t comm)
{
    return size <= 0 ? 0 : size * (factor == N ? mrl_comm_n(comm) : factor);
}

static void collective(struct mrl_call *c, const struct told *told, uint8_t op)
{
    c->flags = MRL_COLLECTIVE;
    c->comm = communicator(told);
    bool rooted = op == MRL_OP_ONE_TO_N || op == MRL_OP_N_TO_ONE;
    if (rooted && told->root == UNTOLD)
        c->comm = 0; /* who waits for whom is not known */
    else if (rooted)
        c->peer = told->root;
    int out = 1, in = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].function == told->function) {
            out = sizes[i].out;
            in = sizes[i].in;
        }
    c->out = times(told->out, out, c->comm);
    c->in = times(told->in, in, c->comm);
    /* Where the root is not told, most are not; but of Gather only the root's size is told. */
    bool root = told->root == UNTOLD ? told->function == MRL_FN_MPI_Gather || told->function == MRL_FN_MPI_Gatherv
                                     : told->root == mrl_comm_me(c->comm);
    if (op == MRL_OP_ONE_TO_N && !root)
        c->out = 0;
    if (told->function == MRL_FN_MPI_Bcast && root)
        c->in = 0;
    if (op == MRL_OP_N_TO_ONE && !root)
        c->in = 0;
}

/* A message that its call's own record does not hold. */
static uint64_t write_message(struct mrl_thread *t, struct told *told, const struct message *m, uint32_t call,
                              struct mrl_caller caller, uint64_t at)
{
    bool nobody = m->peer == MRL_PROC_NULL, follows = mrl_node_at(call)->op != MRL_OP_SENDRECV;
    mrl_make_room(t, at);
    if (m->sent) {
        mrl_slot(t, at)->completed = (struct mrl_completed){
            .bytes = (uint64_t)m->bytes, .number = t->started++, .thread = t->index, .peer = m->peer, .tag = m->tag,
            .path = mrl_path(t, MRL_FN_MPI_Send_init, caller), .comm = (uint16_t)world(), .kind = MRL_POSTED, .flags = MRL_IS_SEND};
    } else if (follows && told->first != told->next) {
        struct posted p = told->posted[told->first++ % POSTED];
        mrl_slot(t, at)->completed = (struct mrl_completed){
            .bytes = (uint64_t)m->bytes, .number = p.number, .thread = t->index, .peer = m->peer, .tag = m->tag, .path = p.path,
            .comm = (uint16_t)world(), .kind = MRL_COMPLETED, .flags = nobody ? MRL_IS_SEND : 0};
    } else if (nobody) {
        return at;
    } else {
        mrl_slot(t, at)->received = (struct mrl_received){
            .bytes = (uint64_t)m->bytes, .peer = m->peer, .tag = m->tag, .comm = (uint16_t)world(), .kind = MRL_RECEIVED,
            .path = follows ? mrl_path(t, MRL_FN_MPI_Irecv, caller) : call};
    }
    return at + 1;
}

/* The first message of a kind, taken out of the list. */
static bool take(struct told *told, bool sent, struct message *m)
{
    for (uint32_t i = 0; i < told->count; i++)
        if (told->messages[i].sent == sent) {
            *m = told->messages[i];
            memmove(&told->messages[i], &told->messages[i + 1], (--told->count - i) * sizeof *m);
            return true;
        }
    return false;
}

static void begin_call(struct mrl_thread *t, struct told *told, enum mrl_function_id f, struct mrl_caller caller)
{
    if (f == MRL_FN_MPI_Finalize)
        mrl_close_regions(t);
    told->fresh = false;
    told->function = f;
    told->sp = caller.sp;
    told->same = told->count = 0;
    told->out = told->in = told->root = UNTOLD;
    told->comm = (mrl_word)UNTOLD;
    told->waiting = told->waited = 0;
    told->start = mrl_start(t);
    t->inside = IN_TAU;
}

static uint64_t write_count(struct mrl_thread *t, uint32_t path, uint32_t counter, uint64_t value, uint64_t at)
{
    mrl_make_room(t, at);
    uint64_t *word = mrl_slot(t, at)->words;
    word[0] = value;
    word[1] = word[2] = MRL_NOT_COUNTED;
    word[3] = MRL_WORD(path, counter, MRL_COUNTS, 0);
    return at + 1;
}

/*
 * How long the rank has waited for the others, in an operation of whose communicator the members are not known: of others
 * the records tell who came last.
 */
static uint64_t write_waited(struct mrl_thread *t, const struct told *told, uint32_t path, uint64_t at)
{
    static _Atomic uint32_t place = MRL_COUNTERS_UNTOLD;
    uint32_t k = mrl_counters_told(&place, (const char *const[]){MRL_WAITED}, 1);
    return k < MRL_COUNTERS ? write_count(t, path, k, mrl_ticks_to_ns(told->waited), at) : at;
}

/* What TAU_METRICS names beside the time, as far as there is room for it. */
static bool tells_metrics;
static _Atomic uint32_t metrics; /* of them */
static struct {
    uint32_t counter;
    uint8_t metric; /* TAU's number of it */
} metric[MRL_COUNTERS];

static bool counted_already(const char *name)
{
    for (uint32_t k = 0; k < mrl.header->counter_count; k++)
        if (!strcmp(mrl_text(mrl.header->counters[k]), name))
            return true;
    return false;
}

/* Once, as soon as the measurement has begun. Whose memory the names are TAU does not say; they are few. */
static void choose_metrics(void)
{
    void (*list)(const char ***, int *);
    const char **names = NULL;
    int n = 0;
    uint32_t chosen = 0;
    *(void **)&list = tells_metrics ? dlsym(RTLD_DEFAULT, "Tau_get_counter_info") : NULL;
    tells_metrics = false;
    if (list)
        list(&names, &n);
    for (int i = 0; names && i < n && i < MRL_TAU_METRICS; i++) {
        _Atomic uint32_t place = MRL_COUNTERS_UNTOLD;
        if (!names[i] || !strcmp(names[i], "TIME") || counted_already(names[i]))
            continue;
        uint32_t k = mrl_counters_told(&place, &names[i], 1);
        if (k < MRL_COUNTERS) {
            metric[chosen].counter = k;
            metric[chosen++].metric = (uint8_t)i;
        }
    }
    if (chosen)
        atomic_store(&metrics, chosen);
}

/* Of a region that has just ended. */
static void write_metrics(struct mrl_thread *t, uint32_t path, const double *values, uint32_t n)
{
    uint64_t at = mrl_head(t);
    for (uint32_t i = 0; i < n; i++) {
        double value = values[metric[i].metric];
        if (value >= 0 && value < 0x1p63)
            at = write_count(t, path, metric[i].counter, (uint64_t)(value + 0.5), at);
    }
    mrl_commit(t, at);
}

static void end_call(struct mrl_thread *t, struct told *told, struct mrl_caller caller)
{
    const struct mrl_function_fact *fact = &mrl_function_facts[told->function];
    struct mrl_call c = {.start = told->start, .end = mrl_stop(t, told->start), .peer = MRL_NO_PEER};
    struct message m;
    c.path = mrl_path(t, told->function, caller);
    if (is_collective(fact->op)) {
        collective(&c, told, fact->op);
    } else if (!(fact->flags & MRL_PERSISTENT) &&
               (sends(fact->op) || (fact->op == MRL_OP_RECV && !(fact->flags & MRL_NONBLOCKING)))) {
        c.comm = world();
        if (take(told, sends(fact->op), &m)) {
            c.peer = m.peer;
            c.tag = m.tag;
            *(m.sent ? &c.out : &c.in) = m.bytes;
        }
    } else if (fact->op == MRL_OP_RECV && !(fact->flags & MRL_PERSISTENT)) {
        c.comm = communicator(told);
        c.peer = c.tag = MRL_ANY;
        c.flags = MRL_STARTED;
        told->first += told->next - told->first == POSTED;
        told->posted[told->next++ % POSTED] = (struct posted){t->started++, c.path};
    } else if (fact->op == MRL_OP_PROBE) {
        c.comm = communicator(told);
    } else if (fact->op == MRL_OP_TEST && told->count) {
        c.flags = MRL_HIT;
    } else if (fact->op == MRL_OP_COMM) {
        atomic_store_explicit(&made_communicators, true, memory_order_relaxed);
    }
    if (fact->flags & MRL_NONBLOCKING && (is_collective(fact->op) || sends(fact->op))) {
        t->started++;
        c.flags |= MRL_STARTED | MRL_COMPLETE;
    }
    t->inside = 0;
    uint64_t at = mrl_write(t, fact->op, &c);
    for (uint32_t i = 0; i < told->count; i++)
        at = write_message(t, told, &told->messages[i], c.path, caller, at);
    if (told->waited && !c.comm)
        at = write_waited(t, told, c.path, at);
    mrl_commit(t, at);
}

/* It was left by an exception or longjmp, and no end will come. */
static void abandon(struct mrl_thread *t)
{
    t->inside = 0;
    t->bad_exits++;
}

/* Whether a timer is that of a function whose name TAU does not know: "addr=<55d0c0ffee>". */
static bool names_code(const char *name, uintptr_t *address)
{
    static const char prefix[] = "addr=<";
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1))
        return false;
    *address = (uintptr_t)strtoull(name + sizeof prefix - 1, &end, 16);
    return *address && *end == '>';
}

/* The innermost open region of this name; 0 if there is none, else counted from 1. */
static uint32_t open_region(const struct mrl_thread *t, const char *name)
{
    uint32_t depth = t->depth;
    uintptr_t address;
    uint64_t offset;
    bool code = names_code(name, &address);
    uint32_t module = code ? mrl_module(address, &offset) : 0;
    for (; depth > 0; depth--) {
        const struct mrl_node *n = mrl_node_at(t->open[depth - 1].path);
        if (code ? n->kind == MRL_NODE_FRAME && n->name == module && n->key == offset
                 : n->kind == MRL_NODE_REGION && strncmp(mrl_text(n->name), name, 255) == 0)
            break;
    }
    return depth;
}

/* What groups TAU has a timer in. Names stay where they are, mostly; one that does not costs a look at the table. */
static void note_groups(struct told *told, const char *name, const char *groups)
{
    const char **known = &told->grouped[(uintptr_t)name / 16 % (sizeof told->grouped / sizeof *told->grouped)];
    if (!groups || *known == name)
        return;
    *known = name;
    mrl_groups(name, groups);
}

static void begin_region(struct mrl_thread *t, struct told *told, const char *name, struct mrl_caller caller, bool phase)
{
    uintptr_t address;
    bool again = told->fresh && open_region(t, name) == t->depth;
    told->fresh = phase && !again;
    if (again) { /* a phase is announced as such, and as a timer */
        told->phase[t->depth - 1] &= phase;
        return;
    }
    const struct mrl_path *path = names_code(name, &address) ? mrl_function_path(t, (const void *)address, caller) : mrl_region_path(t, name, caller);
    if (mrl_open_node(t, path->node, mrl_beginning_of(t, path), false))
        told->phase[t->depth - 1] = phase;
    else
        told->unopened++;
}

/* What began before the measurement ends unnoticed. */
static void end_region(struct mrl_thread *t, struct told *told, const char *name, bool phase, const struct mrl_tau_timer_end *end)
{
    told->fresh = false;
    uint32_t depth = open_region(t, name);
    if (told->unopened) {
        told->unopened--;
    } else if (depth && told->phase[depth - 1] == phase) {
        uint32_t path = t->open[depth - 1].path, n = atomic_load_explicit(&metrics, memory_order_acquire);
        t->bad_exits += t->depth - depth;
        mrl_close_from(t, depth - 1);
        if (unlikely(n) && end)
            write_metrics(t, path, end->metrics, n);
    }
}

static bool frames; /* call paths go through the program's functions */

static void begin(struct mrl_caller caller)
{
    int initialised = 0;
    int (*ask)(int *);
    *(void **)&ask = mrl.started ? NULL : mrl_find("PMPI_Initialized");
    if (!mrl.started && !ask)
        mrl_begin_alone();
    else if (ask && !ask(&initialised) && initialised)
        mrl_begin_late(caller, frames);
    if (mrl.started)
        choose_metrics();
}

/* Whether values of these names are bytes, which are whole. */
static bool of_messages(const char *name)
{
    return !strncmp(name, "Message size ", 13);
}

static _Atomic bool fractions_possible; /* something else was reported */

/* Until exact_values has asked, the whole part is all that is known: said once for each name. */
static void note_fractions(const char *name)
{
    static const char *_Atomic known[64];
    const char *_Atomic *k = &known[(uintptr_t)name / 16 % 64];
    if (atomic_load_explicit(k, memory_order_relaxed) == name)
        return;
    atomic_store_explicit(k, name, memory_order_relaxed);
    fractions_possible = true;
    mrl_atomic_exactly(name, NULL);
}

/*
 * TAU tells plugins the whole part of values. What it has made of all values of a thread it tells whoever asks in that
 * thread, in the order in which it lists their names.
 */
static void exact_values(void)
{
    void (*list)(const char ***, int *), (*ask)(const char **, int, int **, double **, double **, double **, double **);
    const char **names = NULL;
    int n = 0, *counts = NULL;
    double *max = NULL, *min = NULL, *mean = NULL, *squares = NULL;
    *(void **)&list = dlsym(RTLD_DEFAULT, "Tau_get_event_names");
    *(void **)&ask = dlsym(RTLD_DEFAULT, "Tau_get_event_vals");
    if (!list || !ask || !mrl_self || !mrl_self->main_thread || !fractions_possible)
        return;
    list(&names, &n);
    if (!names || n <= 0)
        return;
    ask(names, n, &counts, &max, &min, &mean, &squares);
    for (int i = 0; i < n && counts && max && min && mean && squares; i++)
        if (counts[i] > 0 && names[i] && !of_messages(names[i]))
            mrl_atomic_exactly(names[i], &(struct mrl_reals){(uint64_t)counts[i], mean[i] * counts[i], squares[i], min[i], max[i]});
    free(counts);
    free(max);
    free(min);
    free(mean);
    free(squares);
}

/* The callbacks. Each is given a structure of its own, and answers 0. */

static int timer_begins(const void *data)
{
    const struct mrl_tau_timer *timer = data;
    struct mrl_caller caller = MRL_CALLER;
    struct told *told;
    struct mrl_thread *t = thread_outside(&told);
    if (!t || !timer->name)
        return 0;
    int f = function_of(timer->name);
    if (t->inside == IN_TAU) {
        if (!strcmp(timer->name, barrier)) {
            told->waiting = mrl_now();
            return 0;
        }
        if (caller.sp < told->sp) {
            told->same += f == (int)told->function;
            return 0;
        }
        abandon(t);
    }
    if (f == MRL_FN_MPI_Abort) {
        exact_values();
        mrl_aborts(MRL_CODE_UNKNOWN);
    } else if (f >= 0 && (mrl.on || f == MRL_FN_MPI_Finalize)) /* the program may have switched off MPI calls alone */
        begin_call(t, told, (enum mrl_function_id)f, caller);
    else if (f == NO_CALL && strcmp(timer->name, top_level) && strcmp(timer->name, barrier) && strcmp(timer->name, inquiry)) {
        note_groups(told, timer->name, timer->group);
        begin_region(t, told, timer->name, caller, false);
    }
    return 0;
}

static int timer_ends(const void *data)
{
    const struct mrl_tau_timer *timer = data;
    struct mrl_caller caller = MRL_CALLER;
    struct told *told;
    if (!timer->name)
        return 0;
    int f = function_of(timer->name);
    if (f == MRL_FN_MPI_Init || f == MRL_FN_MPI_Init_thread)
        begin(caller);
    struct mrl_thread *t = thread_outside(&told);
    if (!t)
        return 0;
    if (t->inside == IN_TAU) {
        if (told->waiting && !strcmp(timer->name, barrier)) {
            told->waited += mrl_now() - told->waiting;
            told->waiting = 0;
            return 0;
        }
        if (f == (int)told->function && told->same) {
            told->same--;
            return 0;
        }
        if (f == (int)told->function) {
            end_call(t, told, caller);
            return 0;
        }
        if (caller.sp < told->sp || !open_region(t, timer->name))
            return 0;
        abandon(t);
    }
    if (f == NO_CALL)
        end_region(t, told, timer->name, false, data);
    return 0;
}

static int phase_begins(const void *data)
{
    const struct mrl_tau_phase *phase = data;
    struct mrl_caller caller = MRL_CALLER;
    struct told *told;
    struct mrl_thread *t = thread_outside(&told);
    if (!t || !phase->name || t->inside == IN_TAU)
        return 0;
    if (t->depth && open_region(t, phase->name) == t->depth)
        return 0; /* its timer was announced before */
    begin_region(t, told, phase->name, caller, true);
    return 0;
}

static int phase_ends(const void *data)
{
    const struct mrl_tau_phase *phase = data;
    struct told *told;
    struct mrl_thread *t = thread_outside(&told);
    if (t && phase->name && t->inside != IN_TAU && open_region(t, phase->name))
        end_region(t, told, phase->name, true, NULL);
    return 0;
}

static int message(const void *data, bool sent, struct mrl_caller caller)
{
    const struct mrl_tau_message *given = data;
    struct message m = {.peer = (int32_t)given->peer, .tag = (int32_t)given->tag, .bytes = (int64_t)given->bytes, .sent = sent};
    if (m.peer < 0)
        m = (struct message){.peer = MRL_PROC_NULL};
    struct told *told;
    struct mrl_thread *t = thread_outside(&told);
    if (!t || (m.peer < 0 && sent))
        return 0;
    if (t->inside != IN_TAU && !mrl.on)
        return 0;
    bool outside = t->inside != IN_TAU; /* of a message layer that is not MPI, or in a call that TAU does not time */
    if (outside)
        begin_call(t, told, sent ? MRL_FN_MPI_Send : MRL_FN_MPI_Recv, caller);
    if (told->count < MESSAGES)
        told->messages[told->count++] = m;
    else
        atomic_fetch_add(&mrl.header->requests_lost, 1);
    if (outside)
        end_call(t, told, caller);
    return 0;
}

static int message_sent(const void *data)
{
    return message(data, true, MRL_CALLER);
}

static int message_received(const void *data)
{
    return message(data, false, MRL_CALLER);
}

static int atomic_event(const void *data)
{
    const struct mrl_tau_atomic *event = data;
    struct told *told;
    struct mrl_thread *t = this_thread();
    if (!t || !event->name)
        return 0;
    if (t->inside == IN_TAU && (told = told_to(t)) && is_collective(mrl_function_facts[told->function].op) &&
        strncmp(event->name, "Message size for ", 17) == 0 && !strchr(event->name, ':'))
        told->out = told->in = (told->in < 0 ? 0 : told->in) + (int64_t)event->value;
    if (!of_messages(event->name))
        note_fractions(event->name);
    mrl_atomic(t, event->name, (double)(int64_t)event->value); /* TAU has made a whole number of it, which may be negative */
    return 0;
}

/* The number or text after "key": */
static const char *given(const char *text, const char *key)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"%s\":", key);
    const char *at = strstr(text, wanted);
    return at ? at + strlen(wanted) + strspn(at + strlen(wanted), " \"") : NULL;
}

static int call_given(const void *data)
{
    const struct mrl_tau_given *call = data;
    struct told *told;
    struct mrl_thread *t = thread_outside(&told);
    if (!t || t->inside != IN_TAU || !call->text || told->same)
        return 0;
    const char *comm = given(call->text, "comm"), *root = given(call->text, "root");
    const char *out = given(call->text, "sendsize"), *in = given(call->text, "recvsize");
    if (comm)
        told->comm = !strncmp(comm, "MPI_COMM_WORLD", 14)  ? mrl_abi.comm_world
                     : !strncmp(comm, "MPI_COMM_SELF", 13) ? mrl_abi.comm_self
                                                           : (mrl_word)ELSEWHERE;
    if (root)
        told->root = (int32_t)strtol(root, NULL, 10);
    if (out)
        told->out = strtol(out, NULL, 10);
    if (in)
        told->in = strtol(in, NULL, 10);
    return 0;
}

/* Appends JSON; what does not fit is cut off. */
static void append(char *out, size_t size, size_t *used, const char *text)
{
    *used += (size_t)snprintf(out + *used, size - *used, "%s", text);
    if (*used >= size)
        *used = size - 1;
}

static void write_value(char *out, size_t size, size_t *used, const struct mrl_tau_value *v, int depth)
{
    static const char *const words[] = {[MRL_TAU_TRUE] = "true", [MRL_TAU_FALSE] = "false", [MRL_TAU_NULL] = "null"};
    char number[32];
    int count;
    switch (v ? v->kind : MRL_TAU_NULL) {
    case MRL_TAU_TEXT:
        append(out, size, used, depth ? "\"" : "");
        append(out, size, used, v->as.text ? v->as.text : "");
        append(out, size, used, depth ? "\"" : "");
        break;
    case MRL_TAU_INTEGER:
        snprintf(number, sizeof number, "%d", v->as.integer);
        append(out, size, used, number);
        break;
    case MRL_TAU_REAL:
        snprintf(number, sizeof number, "%.16g", v->as.real);
        append(out, size, used, number);
        break;
    case MRL_TAU_OBJECT:
    case MRL_TAU_ARRAY:
        append(out, size, used, v->kind == MRL_TAU_OBJECT ? "{" : "[");
        count = v->kind == MRL_TAU_OBJECT ? v->as.object->count : v->as.array->count;
        for (int i = 0; i < count && depth < 8 && *used < size - 1; i++) {
            append(out, size, used, i ? ", " : "");
            if (v->kind == MRL_TAU_OBJECT) {
                append(out, size, used, v->as.object->names[i]);
                append(out, size, used, ": ");
            }
            struct mrl_tau_value **values = v->kind == MRL_TAU_OBJECT ? v->as.object->values : v->as.array->values;
            write_value(out, size, used, values[i], depth + 1);
        }
        append(out, size, used, v->kind == MRL_TAU_OBJECT ? "}" : "]");
        break;
    case MRL_TAU_TRUE:
    case MRL_TAU_FALSE:
    case MRL_TAU_NULL:
        append(out, size, used, words[v ? v->kind : MRL_TAU_NULL]);
        break;
    }
}

static int metadata(const void *data)
{
    const struct mrl_tau_metadata *given = data;
    char value[MRL_METADATA_VALUE] = "";
    size_t used = 0;
    if (!mrl.hooks || !given->name)
        return 0;
    write_value(value, sizeof value, &used, given->value, 0);
    mrl_metadata(given->name, value);
    return 0;
}

static int initialised(const void *data)
{
    (void)data;
    begin(MRL_CALLER);
    return 0;
}

/* Inside MPI_Finalize, before the library's own; and once more later. In a program without MPI, at its end. */
static int before_end(const void *data)
{
    struct mrl_caller caller = MRL_CALLER;
    struct mrl_thread *t = mrl_self;
    (void)data;
    if (!mrl.started || mrl.stopped || getpid() != mrl.pid || (t && t->inside && t->inside != IN_TAU))
        return 0;
    exact_values();
    if (mrl_alone) {
        mrl_end_alone();
        return 0;
    }
    struct told *told = t && t->inside == IN_TAU ? told_to(t) : NULL;
    bool finalizing = told && told->function == MRL_FN_MPI_Finalize;
    if (told)
        t->inside = 0;
    mrl_end_early(caller, finalizing ? told->start : 0);
    return 0;
}

static int at_end(const void *data)
{
    (void)data;
    if (mrl_alone)
        mrl_end_alone();
    return 0;
}

/*
 * Where TAU keeps its callbacks: the table of version 2.28 and older, and where two have been put in front of
 * later ones since. What has been appended is nothing to us. 3 would be dumps: TAU writes
 * them where no plugin takes them.
 */
enum { OLD = 16, INSERTED = 2, MOST = 1024 };
static const struct {
    uint8_t old, now; /* place */
    int (*callback)(const void *data);
} callbacks[] = {
    {1, 1, metadata},        {2, 2, initialised},     {5, 5, timer_begins},  {6, 6, timer_ends},    {UINT8_MAX, 7, phase_begins},
    {UINT8_MAX, 8, phase_ends}, {7, 9, call_given},   {8, 10, message_sent}, {9, 11, message_received}, {11, 13, atomic_event},
    {12, 14, before_end},    {13, 15, at_end},
};

/* The table has no version; but TAU clears as much of it as it knows. */
static uint32_t places(void (*clear)(void *), uintptr_t *table)
{
    uint32_t n = MOST;
    memset(table, 0xa5, MOST * sizeof *table);
    clear(table);
    while (n > 0 && table[n - 1])
        n--;
    memset(table, 0, MOST * sizeof *table);
    return n;
}

/*
 * The stack leads through TAU to the program. Where TAU is a library of its own, its frames are left out of call
 * paths; where it is part of the program, they cannot be told from the program's, and paths are TAU's timers alone.
 */
static bool leave_out_frames_of(const void *host)
{
    static char name[64];
    static const char *layers[64] = {"libTAU*"}; /* TAU preloads others than the one that loads us */
    Dl_info info;
    const char *slash, *end;
    size_t n = 1;
    for (; mrl_abi_layers[n - 1] && n < sizeof layers / sizeof *layers - 2; n++)
        layers[n] = mrl_abi_layers[n - 1];
    if (!dladdr(host, &info) || !(slash = strrchr(info.dli_fname, '/')) || !(end = strstr(slash, ".so")))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(end - slash) - 1, slash + 1);
    layers[n] = name;
    mrl.layers = layers;
    return true;
}

bool mrl_tau_loads_us(void)
{
    Dl_info info;
    const char *plugins = getenv("TAU_PLUGINS"), *slash;
    if (!plugins || !getenv("TAU_PLUGINS_PATH") || !dlsym(RTLD_DEFAULT, "Tau_util_plugin_register_callbacks") ||
        !dladdr(&all, &info))
        return false;
    slash = strrchr(info.dli_fname, '/');
    const char *name = slash ? slash + 1 : info.dli_fname, *at = strstr(plugins, name);
    return at && (at == plugins || at[-1] == ':');
}

MRL_EXPORT int Tau_plugin_init_func(int argc, char **argv, unsigned plugin)
{
    static bool registered;
    static uintptr_t table[MOST];
    int (*other)(int, char **, unsigned);
    void (*clear)(void *), (*take_these)(void *, unsigned);
    void *original = mrl_original();
    if (original) { /* both uses are one library's */
        *(void **)&other = dlsym(original, "Tau_plugin_init_func");
        return other ? other(argc, argv, plugin) : 0;
    }
    *(void **)&clear = dlsym(RTLD_DEFAULT, "Tau_util_init_tau_plugin_callbacks");
    *(void **)&take_these = dlsym(RTLD_DEFAULT, "Tau_util_plugin_register_callbacks");
    if (registered || mrl.stopped)
        return 0;
    mrl_settings_read();
    if (!mrl.settings.enable)
        return 0;
    uint32_t known = clear && take_these ? places(clear, table) : 1;
    if (known && known < OLD) {
        mrl_say("this TAU does not offer what a plugin needs, so nothing is measured");
        return -1;
    }
    registered = true;
    frames = leave_out_frames_of(*(void **)&take_these);
    tells_metrics = known >= MRL_TAU_METRICS_SINCE;
    begin(MRL_CALLER);
    bool old = known && known < OLD + INSERTED;
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++) {
        uint8_t place = old ? callbacks[i].old : callbacks[i].now;
        if (place != UINT8_MAX)
            table[place] = (uintptr_t)callbacks[i].callback;
    }
    take_these(table, plugin);
    return 0;
}
