/*
 * What runs inside the application at each event: clock, buffers, call paths, regions, life cycle.
 *
 * May use: libc only; the Go core is reached through core.c and nowhere else.
 *
 * Invariant: the event path takes no lock, allocates nothing and calls nothing but the clock. Whatever
 * can fail happens on a cold path, fails silently for the application, and is counted.
 */
#ifndef MRL_SHIM_H
#define MRL_SHIM_H

#include "core.h"
#include "layout.h"
#include "ours.h"

#include <stdbool.h>

#define MRL_COLD __attribute__((cold, noinline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Settings: generated from the table that also makes flags, configuration keys and documentation. */
struct mrl_settings {
#define MRL_TEXT(field, variable, preset) char field[1024];
#define MRL_NUMBER(field, variable, preset, least, most, ...) int64_t field;
#define MRL_CHOICE(field, variable, preset, ...) int field;
#include "settings.gen.h"
#undef MRL_TEXT
#undef MRL_NUMBER
#undef MRL_CHOICE
};

/* Rank 0's run directory, and what the run is known by (apart.c); 0: directories of hosts cannot be told apart. */
#define MRL_DIRECTORY 4096
struct mrl_home {
    uint64_t run;
    char host[64]; /* of rank 0 */
    bool made;     /* for this run, by rank 0: it was not there before */
    char path[MRL_DIRECTORY]; /* empty: there is none */
};

/* The process's one measurement. */
struct mrl_process {
    /* read at each event */
    _Atomic bool on;        /* events of MPI are recorded */
    _Atomic bool hooks;     /* those of hooks are */
    _Atomic bool plain;     /* ... with the time stamp counter, and nothing else is to be read */
    bool tsc;               /* the clock is the time stamp counter */
    bool concurrent;        /* threads may be inside MPI at once: tables need atomic steps */
    _Atomic uint32_t epoch; /* changes when a handle may have got a new meaning */
    bool external;          /* the clock is a simulated one */
    uint32_t counters;   /* how many are read */
    bool sampling;       /* sample.h */
    _Atomic bool python; /* python.h: there are functions of Python's, and it is known where */
    uint64_t long_ticks; /* gaps and calls longer than this have their CPU time looked at */
    uint64_t (*clock)(void); /* otherwise */
    /* cold */
    const char *const *layers; /* names of libraries whose frames belong to the call, as path.c reads them */
    char *base;         /* the mapping; struct mrl_header at its start */
    uint64_t size;
    struct mrl_header *header;
    struct mrl_thread *_Atomic threads[MRL_THREADS_MAX];
    bool in_file;
    bool files;         /* there are entries of files */
    _Atomic bool confined; /* confine.c: no system call any more */
    int file_error;     /* why not, although there is a directory, on this rank or any: errno */
    _Atomic bool started, stopped;
    bool mpi_off; /* the program does not want MPI calls recorded */
    void (*over)(struct mrl_thread *); /* records the call that a thread has left, with inside MRL_LEFT, and makes that 0 */
    int pid;
#define MRL_FILE 32
    char file[MRL_FILE];  /* name of the mapped file in raw/ */
    char directory[4096]; /* absolute path of the run directory, empty if there is none */
    char raw[4096 + 8];   /* of raw/ in it */
    struct mrl_place run_place, raw_place; /* which directories these were at first */
    struct mrl_home home;
    bool apart;           /* apart.c: the run directory is not rank 0's, but this host's own */
    bool laid;            /* ... and this process has made it */
    struct mrl_settings settings;
    _Atomic uint64_t own_reads, own_bytes; /* system calls that read, and what they have brought, while recording */
    bool quiet; /* nothing is said: the user has not asked for anything */
};

extern MRL_HIDDEN struct mrl_process mrl;
extern _Thread_local struct mrl_thread *mrl_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* say.c: at most one line on stderr, and only from the rank that speaks for all; and the report. */
void mrl_say_begin(void);
bool mrl_may_write(int fd); /* stdout or stderr, as long as it is what it was */
void mrl_print(const char *text, uint64_t size);
void mrl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mrl_say_here(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool mrl_speaks(void);
const char *mrl_launcher(int *processes); /* whose has started this process, and how many: "" and 0 if that is not known */
int mrl_told_rank(void); /* what the launcher of MPI has told this process; -1: none has */

/* answer.c */
void mrl_answered(void);
const char *mrl_owes_answer(void);

/* settings.c */
void mrl_settings_read(void);

/* clock.c */
void mrl_clock_choose(void);
struct mrl_instant mrl_instant_now(void);
uint64_t mrl_raw_ns(void);
uint64_t mrl_ticks_per_second(struct mrl_instant a, struct mrl_instant b);
uint64_t mrl_ns_to_ticks(uint64_t ns);
uint64_t mrl_ticks_to_ns(uint64_t ticks);

/* traffic.c */
long mrl_read(int fd, void *to, size_t size); /* read, which is counted as Marple's own */
void mrl_traffic_begin(void);
void mrl_traffic_end(void);

/* io.c: entries of files. What MPI_File_open has named, and what went to and from it. */
void mrl_files_begin(void);
uint32_t mrl_file_named(const char *name, size_t length, uint64_t ticks);
void mrl_file_moved(uint32_t named, enum mrl_io_kind kind, int64_t bytes, uint64_t ticks);

/* store.c: the mapped file and the tables in it. All indices are stable; 0 of strings is "". */
bool mrl_store_open(const char *directory, int rank);
void mrl_store_name(char out[MRL_FILE], int rank);
bool mrl_store_extend(uint64_t at, uint64_t bytes);
struct mrl_thread *mrl_store_thread(uint32_t *index);
#define MRL_SPILL_SUFFIX ".%u.spill"
#define MRL_SPILL_NAME (MRL_FILE + sizeof ".4294967295.spill")
void mrl_spill_name(char *out, uint32_t thread);
void mrl_store_remove(void);
uint32_t mrl_string(const char *text, size_t length);
uint32_t mrl_node(const struct mrl_node *wanted);
uint32_t mrl_comm_new(void);
struct mrl_comm *mrl_comm_at(uint32_t index);
uint32_t mrl_members_new(uint32_t runs, struct mrl_run **out);
uint32_t mrl_module(uintptr_t address, uint64_t *offset);
bool mrl_sources_begin(void); /* before the first of them; false: there is no room */
uint32_t mrl_source(const char *path);
struct mrl_module *mrl_module_at(uint32_t index);
#define MRL_ROOT_NODE 0u
#define MRL_OVERFLOW_NODE 1u
#define MRL_NONE UINT32_MAX

/* thread.c */
bool mrl_threads_begin(void); /* with room for the first of them */
struct mrl_thread *mrl_attach(void);
bool mrl_stack_bounds(uintptr_t *low, uintptr_t *high); /* of this thread's own, false: not told */
void mrl_flush(struct mrl_thread *t);
void mrl_drain(void);

/* leave.c */
#define MRL_LEFT (UINTPTR_MAX - 1)
int mrl_passes(int version, int actions, uint64_t class, void *exception, void *context);

/* cpu.c */
void mrl_cpu_begin(struct mrl_thread *t);

/* In the main thread; from then on, the CPU time of all others, in ns. 0: not known. */
void mrl_cpu_others_begin(void);
uint64_t mrl_cpu_others(void);
uint64_t mrl_cpu_gap(struct mrl_thread *t, uint64_t now);
uint64_t mrl_cpu_notice(struct mrl_thread *t, uint64_t now);
void mrl_cpu_call(struct mrl_thread *t, uint64_t start, uint64_t end);

/* core.c */
struct mrl_finish;
bool mrl_core_possible(char *why, size_t size);
bool mrl_core_begin(void);
bool mrl_core_ready(void);
const char *mrl_core_why(void);
bool mrl_core_ready_to_merge(void);
bool mrl_core_stack_suffices(void);
bool mrl_core_consume(struct mrl_thread *t);
void mrl_core_consume_rest(struct mrl_thread *t);
int mrl_core_gather(struct mrl_finish *finish);
bool mrl_core_replay(struct mrl_finish *finish);
bool mrl_core_conclude(struct mrl_finish *finish);

/* directory.c: the run directory's name, made of the settings or of the job's, and its length; making it. */
size_t mrl_directory_name(char *out, size_t size, const char *job);
const char *mrl_job_id(void); /* NULL: no batch system */
const char *mrl_account(void);
#define MRL_HASH 0xcbf29ce484222325u
uint64_t mrl_hash(uint64_t hash, const char *text);
bool mrl_choose_directory(char *out, size_t size);
bool mrl_share_directory(const char *path, int rank);
bool mrl_enter_directory(const char *path);
int mrl_open_run(const char *path);
int mrl_run_open(const char *name, int flags);
int mrl_raw_open(const char *name, int flags);
void mrl_raw_remove(const char *name);
void mrl_raw_finish(void);
bool mrl_change_directory(void);
bool mrl_directory_there(void);
void mrl_unmark(void);

/* apart.c */
#define MRL_WORDS (3 * (MRL_DIRECTORY + 64) + 64) /* bytes of a line in the file of hosts */
#define MRL_HOSTS "hosts" /* that file, in a run directory: analysis/run.HostsFile */
void mrl_home_mark(struct mrl_home *home);
/* The directory for this rank's records. Else an errno: this host does not see rank 0's, and none can be made here. */
int mrl_home_find(const struct mrl_home *home, int rank, char directory[MRL_DIRECTORY]);
uint64_t mrl_home_place(void); /* names a host's own directory in the line that its maker tells; 0: it is rank 0's */
void mrl_home_tell(char line[MRL_WORDS]);
void mrl_home_add(const char *text, size_t size);

/* alone.c */
extern bool mrl_alone; /* measured by itself, without a world */
void mrl_begin_alone(void);
void mrl_end_alone(void);
#define MRL_CALIBRATION_NS 1000000u /* a rate of the clock good to 1e-4, for runs too short to do better */

/* atomic.c: what another tool, or the program through it, reports beside calls and regions. */
struct mrl_reals {
    uint64_t count;
    double sum, squares, min, max;
};
void mrl_atomic(struct mrl_thread *t, const char *name, double value);
void mrl_atomic_exactly(const char *name, const struct mrl_reals *values);
void mrl_groups(const char *name, const char *groups);
void mrl_metadata(const char *name, const char *value);
#define MRL_METADATA_VALUE 1000u /* bytes that are kept, and a zero */

/* region.c */
void mrl_phase(int level);
void mrl_resume(void);
void mrl_close_regions(struct mrl_thread *t);
void mrl_enter_late(struct mrl_thread *t);
void mrl_close_from(struct mrl_thread *t, uint32_t depth);

/* component.c */
struct marple_method;
struct marple_value;
uint64_t mrl_invocation_begin(struct marple_method *method, const char *context);
void mrl_invocation_end(uint64_t token, const struct marple_value *values, uint32_t count);
void mrl_families(const char *declaration);

/* lifecycle.c, in the order of calling */
void mrl_program_name(char *out, size_t size);
bool mrl_beside(const char *relative, char *path, size_t size);
void *mrl_original(void);
struct mrl_transport;
bool mrl_begin(const char *directory, int rank, int ranks);
void mrl_record(struct mrl_instant before);
void mrl_stop_recording(uint64_t end);
enum mrl_gathered { MRL_NOT_GATHERED, MRL_GATHERED, MRL_GATHERED_REPLAY };
enum mrl_gathered mrl_gather(const struct mrl_transport *transport);
void mrl_replay(const struct mrl_transport *transport);
void mrl_gathered(void);
void mrl_conclude(void);
static inline bool mrl_reports(void) /* if this process may conclude: it has the core for that */
{
    return mrl.header->rank == 0;
}

/* ending.c */
void mrl_aborts(int code);
void mrl_fails(int class, const char *error);
/*
 * Has somebody report from the files, waiting a little for others to end; why they are needed is said with it. Shared: all
 * ranks know that, and rank 0 speaks for them.
 */
#define MRL_WHY 512
void mrl_settle(const char *wait, const char *why, bool shared);
bool mrl_rank_gone(int rank);
struct mrl_teller {
    uint64_t host, pid_space;
    int32_t pid;
    int32_t gathered; /* enum mrl_gathered */
};
#define MRL_MERGED "merged" /* in raw/ until rank 0 has reported: analysis/pipeline.Keep */
void mrl_concluding(const struct mrl_teller *who);
void mrl_await_conclusion(int code);

static inline const char *mrl_text(uint32_t string)
{
    return mrl.base + MRL_STRINGS_AT + string;
}

static inline struct mrl_node *mrl_node_at(uint32_t index)
{
    return (struct mrl_node *)(mrl.base + MRL_NODES_AT) + index;
}

/* Where mrl.tsc says that there is one. */
static inline __attribute__((always_inline)) uint64_t mrl_counter(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline __attribute__((always_inline)) uint64_t mrl_now(void)
{
    return likely(mrl.tsc) ? mrl_counter() : mrl.clock();
}

static inline uintptr_t mrl_stack(void)
{
#if defined(__x86_64__)
    uintptr_t sp;
    __asm__("mov %%rsp, %0" : "=r"(sp));
    return sp;
#elif defined(__aarch64__)
    uintptr_t sp;
    __asm__("mov %0, sp" : "=r"(sp));
    return sp;
#else
    return (uintptr_t)__builtin_frame_address(0);
#endif
}

/* Whether what runs with this stack pointer is within an MPI call of the thread's. */
static inline bool mrl_within(const struct mrl_thread *t, uintptr_t sp)
{
    return t->inside && sp < t->inside && t->inside != MRL_LEFT;
}

/*
 * The thread's buffers if this call is to be recorded, else NULL. A call made by the MPI library (or by
 * another tool) on behalf of a recorded one runs deeper on the same stack, and is not recorded. Comparing
 * stack addresses instead of counting depth survives calls that are left unnoticed; those that leave.c notices are over.
 */
static inline __attribute__((always_inline)) struct mrl_thread *mrl_enter_if(const _Atomic bool *on)
{
    struct mrl_thread *t = mrl_self;
    if (unlikely(!atomic_load_explicit(on, memory_order_relaxed)))
        return NULL;
    if (unlikely(t == NULL)) {
        t = mrl_attach();
        if (t == NULL)
            return NULL;
    }
    uintptr_t sp = mrl_stack();
    if (unlikely(sp < t->inside)) {
        if (t->inside != MRL_LEFT)
            return NULL;
        mrl.over(t);
    }
    t->inside = sp;
    return t;
}

/* For MPI calls. leave.c is told when one is left without returning; that costs nothing here. */
static inline __attribute__((always_inline)) struct mrl_thread *mrl_enter(void)
{
    __asm__ volatile(".cfi_personality 0x1b, mrl_passes"); /* relative to where it stands, in 4 bytes */
    return mrl_enter_if(&mrl.on);
}

static inline void mrl_switch(bool on)
{
    mrl.hooks = on;
    mrl.plain = on && mrl.tsc && !mrl.counters;
    mrl.on = on && !mrl.mpi_off;
}

/* For hooks. From inside an MPI call (a user-defined reduction, say) there is nothing to attach a region to. */
static inline __attribute__((always_inline)) struct mrl_thread *mrl_outside_mpi(void)
{
    struct mrl_thread *t = mrl_self;
    if (unlikely(t && mrl_within(t, mrl_stack()))) {
        t->inside_hooks++;
        return NULL;
    }
    if (unlikely(!mrl.started))
        mrl_begin_alone();
    return mrl_enter_if(&mrl.hooks);
}

/*
 * The same where nothing is out of the ordinary; else NULL, and the above will know. What a handler that interrupts it
 * does to the thread is not recorded, as above: hence the fence.
 */
static inline __attribute__((always_inline)) struct mrl_thread *mrl_outside_plainly(void)
{
    struct mrl_thread *t = mrl_self;
    uintptr_t sp = mrl_stack();
    if (unlikely(!atomic_load_explicit(&mrl.plain, memory_order_relaxed) || !t || sp < t->inside))
        return NULL;
    t->inside = sp;
    atomic_signal_fence(memory_order_seq_cst);
    return t;
}

/* Records are written at positions counted from the thread's first one, then committed. */
static inline uint64_t mrl_head(const struct mrl_thread *t)
{
    return atomic_load_explicit(&t->head, memory_order_relaxed);
}

static inline union mrl_slot *mrl_slot(struct mrl_thread *t, uint64_t position)
{
    union mrl_slot *ring = (union mrl_slot *)((char *)t + MRL_RING_AT);
    return &ring[position & (MRL_RECORDS - 1)];
}

static inline __attribute__((always_inline)) uint64_t mrl_start(struct mrl_thread *t)
{
    uint64_t now = mrl_now();
    if (unlikely(now - t->last_end > mrl.long_ticks))
        now = mrl_cpu_gap(t, now);
    return now;
}

static inline __attribute__((always_inline)) uint64_t mrl_stop(struct mrl_thread *t, uint64_t start)
{
    uint64_t now = mrl_now();
    t->last_end = now;
    if (unlikely(now - start > mrl.long_ticks))
        mrl_cpu_call(t, start, now);
    return now;
}

/* When the last event ended. */
static inline uint64_t mrl_ended(const struct mrl_thread *t)
{
    return t->last_end ? t->last_end : t->gap_from;
}

/* Says that Marple itself has taken so many ticks of the gap that goes on. */
static inline void mrl_took(struct mrl_thread *t, uint64_t ticks)
{
    if (ticks > t->longest)
        t->longest = ticks;
    t->own_ticks += ticks;
    t->own_sum += ticks;
    if (t->last_end)
        t->gap_from = t->last_end;
    t->last_end = 0; /* so that one comparison tells both a long gap and this */
}

/*
 * Says that Marple itself has taken the time since `begin`. A core lost meanwhile was lost by Marple: the gap that goes
 * on knows nothing of it, unless it has been going on for so long that it must be asked about in any case.
 */
static inline void mrl_own(struct mrl_thread *t, uint64_t begin)
{
    if (mrl_now() - begin > mrl.long_ticks && begin - mrl_ended(t) <= mrl.long_ticks)
        mrl_cpu_begin(t);
    mrl_took(t, mrl_now() - begin);
}

/* What Marple had taken, and the time without a core, when the last event ended. */
static inline uint64_t mrl_own_before(const struct mrl_thread *t)
{
    return t->own_sum - t->own_ticks;
}

static inline uint64_t mrl_off_before(const struct mrl_thread *t)
{
    return t->off_sum - t->noticed_off;
}

/*
 * Operations in flight, started in this thread: by a call that ended at `end`, when `mpi` ticks had been spent
 * in MPI; and known to be complete, in this thread or in another.
 */
static inline void mrl_take_off(struct mrl_thread *t, uint64_t end, uint64_t mpi)
{
    if (t->in_flight++ == 0) {
        t->flight_from = end;
        t->flight_else = mpi + mrl_own_before(t) + mrl_off_before(t);
    }
}

/* Ticks until `now`, when an event ends or begins, during which the thread computed while some were in flight. */
static inline uint64_t mrl_overlap(const struct mrl_thread *t, uint64_t now)
{
    if (!t->in_flight)
        return t->overlap_sum;
    uint64_t flight = now - t->flight_from, other = t->mpi_sum + mrl_own_before(t) + mrl_off_before(t) - t->flight_else;
    return t->overlap_sum + (flight > other ? flight - other : 0);
}

static inline void mrl_land(struct mrl_thread *t, uint32_t count, uint64_t now)
{
    if (count < t->in_flight) {
        t->in_flight -= count;
        return;
    }
    t->overlap_sum = mrl_overlap(t, now);
    t->in_flight = 0;
}

/* What other threads have completed, as soon as this one looks. */
static inline void mrl_land_others(struct mrl_thread *t, uint64_t now)
{
    if (unlikely(atomic_load_explicit(&t->landed, memory_order_relaxed)))
        mrl_land(t, atomic_exchange_explicit(&t->landed, 0, memory_order_relaxed), now);
}

/* Makes the records before this position count, and leaves the call. */
static inline void mrl_commit(struct mrl_thread *t, uint64_t head)
{
    atomic_store_explicit(&t->head, head, memory_order_release);
    t->inside = 0;
    if (unlikely(head >= t->flush_at))
        mrl_flush(t);
}

#endif
