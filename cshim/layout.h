/*
 * The memory that measurement leaves behind: one mapped file per process, read by the Go core while
 * the process lives and by `marple recover` after it died.
 *
 * May use: nothing but fixed-width integers. Go mirrors these structures in analysis/record; a test
 * compares every offset.
 *
 * Invariant: no pointers, only offsets and indices; a record counts once `head` has passed it, a path
 * node once its kind is set. Whatever a kill interrupts is therefore either wholly there or not there.
 */
#ifndef MRL_LAYOUT_H
#define MRL_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define MRL_MAGIC "MARPLE\r\n"
#define MRL_VERSION 20u

/* What a call does. The order is that of analysis/record; values are written to disk. */
enum mrl_op {
    MRL_OP_NONE,
    MRL_OP_SEND,
    MRL_OP_BSEND,
    MRL_OP_SSEND,
    MRL_OP_RSEND,
    MRL_OP_RECV,
    MRL_OP_SENDRECV,
    MRL_OP_PROBE,
    MRL_OP_WAIT,
    MRL_OP_TEST,
    MRL_OP_REQUEST,
    MRL_OP_BARRIER,
    MRL_OP_N_TO_N,
    MRL_OP_ONE_TO_N,
    MRL_OP_N_TO_ONE,
    MRL_OP_SCAN,
    MRL_OP_NEIGHBOR,
    MRL_OP_PUT,
    MRL_OP_GET,
    MRL_OP_FETCH,
    MRL_OP_RMA_SYNC,
    MRL_OP_FENCE,
    MRL_OP_FILE_READ,
    MRL_OP_FILE_WRITE,
    MRL_OP_FILE_OTHER,
    MRL_OP_COMM,
    MRL_OP_DATATYPE,
    MRL_OP_WINDOW,
    MRL_OP_LOCAL,
    MRL_OP_INIT,
    MRL_OP_FINALIZE,
    MRL_OP_COUNT
};

enum mrl_op_flag {
    MRL_NONBLOCKING = 1, /* starts an operation, or asks without waiting */
    MRL_PERSISTENT = 2,  /* prepares an operation that MPI_Start repeats */
};

/* Peers and tags as analysis sees them, whatever the MPI library's own constants are. */
enum { MRL_ANY = -1, MRL_PROC_NULL = -2, MRL_NO_PEER = -3, MRL_ROOT = -4 };

/*
 * A record. Kinds below MRL_CALL come before the event they belong to, kinds above MRL_EXIT after it;
 * both are committed together with it, and each has a structure of its own below.
 */
enum mrl_kind {
    MRL_EMPTY,
    MRL_BEFORE,    /* what became of the time since the last event's end */
    MRL_INSIDE,    /* what became of the time inside the call, or the invocation */
    MRL_WIDE,      /* values too large for the event itself, which they replace */
    MRL_CALL,      /* an MPI call */
    MRL_ENTER,     /* a region or phase begins: path is its node */
    MRL_EXIT,      /* it ends: start is the end, duration the inclusive time */
    MRL_RECEIVED,  /* the receiving half of a call that sends and receives, where MRL_BOTH does not do */
    MRL_POSTED,    /* a persistent operation was started in this call */
    MRL_COMPLETED, /* an operation completed in this call */
    MRL_BEGIN,     /* another thread goes on with a block whose thread has ended: start */
    MRL_LEAF,      /* a region in which nothing happened, begun and ended in one record */
    MRL_VALUES,    /* of the invocation that has just ended: parameters and qualities */
    MRL_ATOMIC,    /* a value was reported: start holds a double; path is its node */
    MRL_COUNTS,    /* of what has just ended: counters; path is 0 for the whole thread */
    MRL_SAMPLED,   /* timer samples in the time since the last event's end */
    MRL_ASIDE,     /* a region in which nothing else is recorded, told at its end, and which the time around it does not end or begin with */
    MRL_KIND_COUNT
};

enum mrl_flag {
    MRL_COLLECTIVE = 1,    /* tag holds the bytes received, peer the root (of a one-sided fetch: the target) */
    MRL_FAILED = 2,        /* returned an error */
    MRL_STARTED = 4,       /* started operation number (count of such records in this thread) */
    MRL_COMPLETE = 8,      /* ... which was complete at once: no MRL_COMPLETED will follow */
    MRL_HIT = 16,          /* a test or probe that found something */
    MRL_BOTH = 32,         /* MRL_CALL: it has sent and received; struct mrl_both */
    MRL_IS_SEND = 32,      /* MRL_POSTED, MRL_COMPLETED: the operation brings nothing in */
    MRL_CANCELLED = 64,    /* MRL_COMPLETED: it was cancelled */
    MRL_INVOCATION = 1,    /* MRL_EXIT, MRL_INSIDE: of a component's method; struct mrl_invoked */
    MRL_ELSEWHERE = 1,     /* MRL_SAMPLED: in a thread without records of its own, or without events since */
};

struct mrl_record {
    uint64_t start;    /* ticks */
    uint32_t duration; /* ticks */
    uint32_t bytes;
    int32_t peer; /* rank in the communicator, or MRL_ANY ... */
    int32_t tag;
    uint32_t path; /* node index */
    uint16_t comm; /* index into the communicator table */
    uint8_t kind, flags;
};
/*
 * A call that has sent a message and received one with the same tag: what MRL_CALL and MRL_RECEIVED tell, where all of it
 * fits.
 */
struct mrl_both {
    uint64_t start;    /* ticks */
    uint32_t duration; /* ticks */
    uint32_t bytes;    /* sent */
    int16_t to, from;  /* peers */
    uint16_t tag;
    int16_t more; /* bytes received, beyond those sent */
    uint32_t path;
    uint16_t comm;
    uint8_t kind, flags;
};
struct mrl_before {
    uint64_t runnable; /* ticks off the core, though runnable */
    uint64_t blocked;  /* ticks off the core, blocked */
    uint64_t own;      /* ticks spent by Marple itself */
    uint32_t pad;
    uint16_t pad2;
    uint8_t kind, flags;
};
struct mrl_inside {
    uint64_t runnable, blocked, pad;
    uint32_t pad2;
    uint16_t pad3;
    uint8_t kind, flags;
};
struct mrl_wide {
    uint64_t duration; /* ticks */
    uint64_t out, in;  /* bytes; of an invocation: mpi and overlap */
    uint32_t pad;
    uint16_t pad2;
    uint8_t kind, flags;
};
struct mrl_received {
    uint64_t bytes;
    uint64_t pad;
    int32_t peer, tag;
    uint32_t path; /* the call's */
    uint16_t comm;
    uint8_t kind, flags;
};
struct mrl_completed { /* MRL_POSTED too */
    uint64_t bytes;  /* received; MRL_POSTED: to send, or room to receive */
    uint32_t number; /* of the operation within the thread that started it */
    uint16_t thread; /* index of the thread that started it */
    uint16_t op;     /* MRL_POSTED: enum mrl_op of the call that prepared it */
    int32_t peer, tag;
    uint32_t path; /* where it was started */
    uint16_t comm;
    uint8_t kind, flags;
};
/*
 * The end of a method's invocation that went as it should. Ticks spent by Marple, and those without a core, which an
 * MRL_INSIDE before it tells, are in none of the durations.
 */
struct mrl_invoked {
    uint64_t end;      /* ticks */
    uint32_t duration; /* ticks */
    uint32_t mpi;      /* ticks of it in MPI calls of this thread */
    uint32_t overlap;  /* ticks of it outside MPI calls while operations of this thread were in flight */
    uint32_t own;      /* ticks spent by Marple between begin and end, at most UINT32_MAX */
    uint32_t path;
    uint16_t pad;
    uint8_t kind, flags;
};
struct mrl_leaf {
    uint64_t end;      /* ticks */
    uint32_t duration; /* ticks, none of them in MPI or Marple */
    uint32_t name;     /* of its first value; 0: none */
    uint64_t value;
    uint32_t path;
    uint16_t pad;
    uint8_t kind, flags; /* enum mrl_value_flag */
};
/* Up to two values that an invocation is remembered with; further ones follow in further records. */
enum mrl_value_flag {
    MRL_REAL = 1,
    MRL_QUALITY = 2,
    MRL_SECOND = 2, /* shift for the second value's */
    MRL_PLAIN = 16, /* MRL_LEAF: of a region or function, or of an invocation that is not to be kept by itself */
};
struct mrl_values {
    uint64_t value[2]; /* int64_t or double */
    uint32_t name[2];  /* strings; 0: no value */
    uint32_t path;
    uint16_t pad;
    uint8_t kind, flags;
};
/* Counts, of three counters from the one with index `first`; MRL_NOT_COUNTED where there are none. */
#define MRL_NOT_COUNTED UINT64_MAX
struct mrl_counts {
    uint64_t values[3];
    uint32_t path;
    uint16_t first;
    uint8_t kind, flags; /* MRL_INVOCATION: of an invocation that has a record of its own */
};

/* Comes before the event, one for each place; with MRL_ELSEWHERE anywhere. */
struct mrl_sampled {
    uint64_t samples;
    uint64_t periods; /* of the timer: more than samples where signals came late */
    uint64_t pad;
    uint32_t path; /* MRL_NODE_PLACE, or a function; 0 if it is not known */
    uint16_t pad2;
    uint8_t kind, flags;
};

/* What became of the time in it an MRL_INSIDE before it tells. */
struct mrl_aside {
    uint64_t end, duration; /* ticks */
    uint64_t pad;
    uint32_t path;
    uint16_t pad2;
    uint8_t kind, flags;
};

union mrl_slot {
    struct mrl_record record;
    struct mrl_both both;
    struct mrl_before before;
    struct mrl_inside inside;
    struct mrl_wide wide;
    struct mrl_received received;
    struct mrl_completed completed;
    struct mrl_invoked invoked;
    struct mrl_leaf leaf;
    struct mrl_values values;
    struct mrl_counts counts;
    struct mrl_sampled sampled;
    struct mrl_aside aside;
    uint64_t words[4];
};
_Static_assert(sizeof(union mrl_slot) == 32, "a record is half a cache line");
#define MRL_SAME_KIND(s) _Static_assert(offsetof(struct s, kind) == 30, "every record has its kind at the same place")
MRL_SAME_KIND(mrl_record);
MRL_SAME_KIND(mrl_both);
MRL_SAME_KIND(mrl_before);
MRL_SAME_KIND(mrl_inside);
MRL_SAME_KIND(mrl_wide);
MRL_SAME_KIND(mrl_received);
MRL_SAME_KIND(mrl_completed);
MRL_SAME_KIND(mrl_invoked);
MRL_SAME_KIND(mrl_leaf);
MRL_SAME_KIND(mrl_values);
MRL_SAME_KIND(mrl_counts);
MRL_SAME_KIND(mrl_sampled);
MRL_SAME_KIND(mrl_aside);

/* The last word of a record, which says what it is. */
#define MRL_WORD(path, comm, kind, flags) \
    ((uint64_t)(path) | (uint64_t)(comm) << 32 | (uint64_t)(kind) << 48 | (uint64_t)(flags) << 56)

/* Where time between events begins or ends, if not with an MPI call: the beginning of a region or function. */
#define MRL_EDGE_ENTER (UINT32_C(1) << 31)

/* A call path is a chain of nodes up to the root (index 0). */
enum mrl_node_kind {
    MRL_NODE_FREE,
    MRL_NODE_ROOT,
    MRL_NODE_FRAME,     /* a function: key = offset of its beginning in the module, name = module index; of a source file
                           the upper half of key = string of the function's name */
    MRL_NODE_REGION,    /* name = string; those of MRL_ASIDE have a site */
    MRL_NODE_PHASE,     /* key = the level given to MPI_Pcontrol */
    MRL_NODE_MPI,       /* name = string, op and flags set */
    MRL_NODE_COMPONENT, /* name = method's string, key = component's | instance's << 32 */
    MRL_NODE_OVERFLOW,  /* paths for which there was no room */
    MRL_NODE_CUT,       /* callers that are left out: key = 0 beyond the depth asked for, 1 not known */
    MRL_NODE_FAMILIES,  /* no path: name = what the program declares of families of components */
    MRL_NODE_ATOMIC,    /* no path, but the name = string of values that are reported */
    MRL_NODE_METADATA,  /* no path: name = string, key = string of its value; the last one of a name is good */
    MRL_NODE_PLACE,     /* in a function, where samples hit: name = module, key = offset behind that instruction's beginning */
    MRL_NODE_EXACTLY,   /* no path: name = as MRL_NODE_ATOMIC, key = string of what the first thread reported:
                           "number sum squares min max" in place of its records; or "" where these are cut to whole numbers */
    MRL_NODE_GROUPS,    /* no path: name = string of regions, key = string of the groups they are in: "a|b" */
};

struct mrl_node {
    uint32_t parent;
    uint8_t kind;
    uint8_t op;
    uint8_t flags;
    uint8_t pad;
    uint64_t key;
    uint32_t name;
    uint32_t site_module; /* frames, MPI calls and some regions: module that they were called in */
    uint64_t site;        /* ... and the offset there that they return to; 0 if it is not known */
};
_Static_assert(sizeof(struct mrl_node) == 32, "");

enum mrl_comm_flag { MRL_COMM_INTER = 1, MRL_COMM_FREED = 2, MRL_COMM_MEMBERS = 4, MRL_COMM_GROUP = 8 };

struct mrl_comm {
    uint64_t id;     /* the same on all members: hash(parent, ordinal, members) */
    uint64_t parent; /* id */
    uint32_t size;   /* of the group peers are ranked in: the remote one of an intercommunicator */
    int32_t rank;
    uint32_t members; /* byte offset of the first run in the member arena */
    uint32_t runs;
    uint32_t name; /* string */
    uint32_t flags;
    uint32_t ordinal;  /* of its creation on the parent */
    uint32_t children; /* created on it so far */
    int32_t sources, destinations; /* neighbours in its topology, -1 until asked */
    uint64_t handle;               /* canonical */
};
_Static_assert(sizeof(struct mrl_comm) == 64, "");

/* count world ranks, first, first+stride, ... */
struct mrl_run {
    uint32_t first;
    int32_t stride;
    uint32_t count;
};

struct mrl_module {
    uint64_t low, high; /* addresses it was mapped at */
    uint64_t bias;      /* address minus ELF virtual address */
    uint32_t path;      /* string */
    uint8_t build_id_len;
    uint8_t build_id[20];
    uint8_t source; /* 1: a source file that an interpreter runs. It has no addresses: offsets in it are lines */
    uint8_t pad[14];
};
_Static_assert(sizeof(struct mrl_module) == 64, "");

/* Aggregates, written by the core alone: analysis/record says what they mean. */
#define MRL_ENTRY_SIZE 128u

/* Caches of the owning thread: values only, worthless to a reader. */
struct mrl_type {
    uint64_t handle;
    int64_t size; /* bytes */
};
struct mrl_known {
    uint64_t handle;
    uint64_t index;
};
struct mrl_name {
    uint64_t at;          /* address */
    uint64_t first, mask; /* bytes of it, and which of these count */
    uint32_t string;
    uint32_t longer; /* 1: there are more of them */
};
struct mrl_open {
    uint64_t enter; /* ticks */
    uint32_t path;
    uint32_t outer;
    uint64_t own, off, mpi, overlap; /* the sums of the thread at that time, once it is entered */
};

#define MRL_TYPES 64u
#define MRL_COMM_CACHE 16u
#define MRL_VALUE_NAMES 64u
#define MRL_DEPTH 128u   /* open regions per thread; deeper ones are counted, not recorded */
#define MRL_RECORDS 4096u /* ring of records per thread: 128 KiB, handed over when nearly full */
#define MRL_PLACES 128u  /* different places of samples before one event; further ones count as not known */
#define MRL_RESERVE (72u + MRL_PLACES) /* most records one event may commit together, and what comes before it */
#define MRL_UNDO 256u    /* aggregates saved per hand-over before an early commit */
#define MRL_ENTRIES 65536u
#define MRL_ENTRIES_FIRST 512u /* aggregates there is storage for from the start */

struct mrl_thread {
    /* the owner's, touched at each event */
    _Atomic uint64_t head; /* records committed since the thread began */
    uint64_t flush_at;     /* hand over when head reaches this */
    uintptr_t inside;      /* stack address of the outermost MPI wrapper, 0 outside; MRL_LEFT: outside of one that was left */
    uint64_t last_end;     /* ticks: end of the last event; 0 makes the next one look at own_ticks */
    uint32_t where;        /* innermost open region */
    uint32_t started;      /* operations started: the next one's number */
    uint64_t own_ticks;    /* spent by Marple since the last event ... */
    uint64_t gap_from;     /* ... which ended here */
    uint64_t off_inside;   /* ticks runnable but off the core inside this call, for its record */
    uint64_t off_blocked;  /* ticks blocked inside this call */
    uint64_t mpi_sum;      /* ticks in MPI calls, but for those without a core */
    uint64_t own_sum;      /* ticks spent by Marple */
    uint64_t off_sum;      /* ticks without a core, inside MPI calls and outside, as far as they have been asked about */
    uint64_t overlap_sum;  /* ticks outside MPI while operations were in flight, as of the last landing */
    uint64_t flight_from;  /* ticks: the first of those in flight was started */
    uint64_t flight_else;  /* mpi_sum + own_sum + off_sum then */
    /* the MPI call that it is in, while `inside`: for whoever finds a thread that does not come back */
    uint64_t called;       /* ticks: when it began */
    uint64_t called_from;  /* where it returns to */
    uint32_t calling;      /* the function's name: string */
    int32_t calling_peer;  /* of a blocking message, or the root */
    uint64_t calling_comm; /* handle of the communicator; 0: none */
    uint32_t unentered;    /* 1: the innermost open one has no MRL_ENTER yet, because nothing has happened since */
    uint32_t in_flight;    /* operations started in this thread and not known to be complete */
    _Atomic uint32_t landed; /* of these, completed in other threads */
    uint32_t pad;
    uint32_t epoch; /* of the handle caches below */
    uint32_t depth; /* open regions */
    uint32_t index;
    /* the owner's, touched when a gap or a call was long */
    uint64_t cpu_ns, cpu_wall_ns; /* thread CPU time, and CLOCK_MONOTONIC_RAW when it was read */
    uint64_t delay_ns;            /* run-queue delay then */
    uint64_t switches;            /* voluntary context switches then */
    uint64_t noticed_off, noticed_blocked, noticed_at; /* of the gap that goes on: ticks without a core, and up to when */
    uint64_t told_wall, told_mpi, seen_mpi; /* ns that hooks were told were spent, in all and in MPI, and those in mpi_sum then */
    uint64_t deep_regions;       /* region entries beyond MRL_DEPTH */
    uint64_t bad_exits;          /* region ends that matched no open region */
    uint64_t inside_hooks;       /* hooks called from inside an MPI call, not recorded */
    uint64_t values_lost;        /* values beyond those that fit an invocation's record */
    uint64_t cut_short;          /* invocations that ended with what they were in, or with the measurement */
    uint64_t longest;            /* ticks that Marple has taken at once, the most: of a hand-over, a walk, a growing file */
    /* the consumer's */
    _Atomic uint64_t consumed; /* storing it commits everything below at once */
    uint64_t undo_batch;       /* the value of consumed that the undo log belongs to */
    uint32_t undo_count;
    uint32_t entries;       /* in use */
    uint32_t entries_ready; /* backed by storage */
    uint32_t last_from;     /* path that the current gap began with, or MRL_EDGE_... of a region or function */
    uint64_t last_tick;
    uint64_t entries_lost; /* aggregates that found no room and share one per kind */
    uint64_t pending[8];   /* of records before an event that has not come yet */
    uint64_t invocations;  /* of components, that have ended */
    uint64_t kept;         /* records of them in a file, behind one another */
    uint64_t unkept;       /* invocations whose records found no room there */
    uint64_t polling;      /* tick: since when tests have found nothing, one after the other; 0: the last event was none */
    uint64_t saved[16];    /* copies of entries, last_from, last_tick and what follows, from before this batch */
    _Atomic uint64_t spilled; /* records moved to the spill file; storing it commits them */
    uint64_t drop_at;         /* records from here to `spilled` were only counted, in mrl_lost */
    uint64_t dropped;         /* records only counted, in all */
    _Atomic uint32_t consumer; /* 1 while somebody consumes */
    uint32_t main_thread;
    _Atomic uint32_t owned; /* 1 while its thread lives */
    uint32_t owners;        /* threads that have used this block, one after the other */
    uint32_t entries_full;  /* 1 when there is no storage for more entries than are ready */
    uint64_t os_tid;
    uint64_t begin_tick;
    uint64_t made[MRL_OP_COUNT]; /* MPI calls that records were written of: what has been merged is compared with */
    /* caches */
    struct mrl_paths *paths; /* path.h */
    struct mrl_counting *counting; /* counter.c */
    struct mrl_open open[MRL_DEPTH];
    struct mrl_type types[MRL_TYPES];
    struct mrl_known comms[MRL_COMM_CACHE];
    struct mrl_name names[MRL_VALUE_NAMES]; /* of values, by address */
};

#define MRL_THREAD_HOT 16384u
_Static_assert(sizeof(struct mrl_thread) <= MRL_THREAD_HOT, "");
#define MRL_RING_AT MRL_THREAD_HOT
#define MRL_UNDO_AT (MRL_RING_AT + MRL_RECORDS * 32u)
#define MRL_ENTRIES_AT (MRL_UNDO_AT + MRL_UNDO * (8u + MRL_ENTRY_SIZE) + 2048u)
_Static_assert(MRL_ENTRIES_AT % 4096u == 0, "entries begin on a page");
#define MRL_THREAD_SPAN (MRL_ENTRIES_AT + MRL_ENTRIES * MRL_ENTRY_SIZE)

/* Calls by operation class that were counted when neither core nor storage could take their records. */
struct mrl_lost {
    uint64_t calls, ticks, bytes, pad;
};

#define MRL_COUNTERS 8u
enum mrl_counter_source { MRL_NOWHERE, MRL_PAPI, MRL_PERF_EVENT, MRL_ACCOUNTED, MRL_HOST /* that Marple is a plugin of */ };

enum mrl_state { MRL_RUNNING, MRL_FINALIZED, MRL_EXITED, MRL_ABORTED, MRL_FATAL /* an error met MPI_ERRORS_ARE_FATAL */ };
#define MRL_CODE_UNKNOWN INT32_MIN /* of MPI_Abort */
enum mrl_clock_kind { MRL_CLOCK_TSC, MRL_CLOCK_MONOTONIC, MRL_CLOCK_EXTERNAL };

/* The same instant on three clocks. */
struct mrl_instant {
    uint64_t ticks;
    uint64_t raw_ns;  /* CLOCK_MONOTONIC_RAW */
    uint64_t wall_ns; /* CLOCK_REALTIME */
};

/*
 * What to add to this host's clock, in ns, for that of rank 0's host, when this one showed `at`; off by error_ns at
 * most. Known to the lowest rank of each host, where there are several.
 */
struct mrl_offset {
    uint64_t at;
    int64_t ns;
    uint64_t error_ns;
    uint64_t known;
};

/*
 * What went through read, write and their like, as the kernel counts it for the process: files, pipes and sockets, the MPI
 * library's too, and those of children that it has waited for; without what Marple reads itself.
 */
struct mrl_traffic {
    uint64_t read, written; /* bytes */
    uint64_t reads, writes; /* system calls */
};

/*
 * Files, with the setting `io`: what was done with each. The first entry is of all calls on files that found no room, and of
 * those that only name a file. An entry counts once its key is set. Calls are system calls but for those of streams (fwrite,
 * fprintf); what the MPI library does itself is in its own functions' sums.
 */
enum mrl_io_kind {
    MRL_IO_READ,
    MRL_IO_WRITE,
    MRL_IO_OPEN,
    MRL_IO_CLOSE,
    MRL_IO_SYNC,
    MRL_IO_METADATA, /* stat, unlink, rename, mkdir, truncate, access */
    MRL_IO_MPI_READ,      /* of MPI: by one rank */
    MRL_IO_MPI_WRITE,
    MRL_IO_MPI_READ_ALL, /* collective */
    MRL_IO_MPI_WRITE_ALL,
    MRL_IO_KINDS
};
struct mrl_io_sum {
    _Atomic uint64_t calls, bytes, ticks;
    _Atomic uint64_t small; /* calls that moved something, but less than MRL_IO_BLOCK; none of streams */
};
struct mrl_file {
    _Atomic uint64_t key; /* hash of the path */
    uint32_t path;        /* string */
    uint32_t pad;
    _Atomic uint64_t unaligned; /* writes that begin or end within a block */
    struct mrl_io_sum sums[MRL_IO_KINDS];
};
#define MRL_IO_BLOCK 4096u /* a page of the page cache, and a block of most file systems */
#define MRL_FILES 257u     /* with the first */

#define MRL_STRINGS_MAX (1u << 20)
#define MRL_DECLARATION 1024u /* bytes of a text about families; longer ones are cut off, which their reader refuses */
#define MRL_NODES_MAX 65536u
#define MRL_COMMS_MAX 4096u
#define MRL_MODULES_MAX 512u
#define MRL_MEMBERS_MAX (1u << 20)
#define MRL_THREADS_MAX 1024u

struct mrl_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t pid;
    int32_t rank, ranks; /* in MPI_COMM_WORLD */
    uint32_t state;
    int32_t abort_code; /* of MPI_Abort; where an error was fatal, its class, or 0 */
    uint32_t clock_kind;
    uint64_t host;          /* hash of host name and boot id */
    uint64_t pid_space;     /* where pid means something: inode of the process id namespace */
    uint64_t cpus[16];      /* affinity mask: up to 1024 CPUs */
    uint64_t ticks_per_second; /* first estimate; two instants tell better */
    struct mrl_instant first, last;
    uint64_t begin_tick, end_tick; /* MPI_Init left by all, MPI_Finalize entered by all */
    uint64_t init_ticks;           /* spent in MPI_Init */
    uint64_t thread_level;         /* 0..3: single, funneled, serialized, multiple */
    uint64_t others_cpu_ns;        /* CPU time of all threads but the main one, from begin_tick to end_tick */
    uint64_t peak_memory;          /* bytes that the process had in memory at most until end_tick; 0: not known */
    uint64_t unrecorded_ticks;        /* the program did not want MPI calls recorded: so long, ... */
    uint64_t unrecorded_since;        /* ... and since this tick, if it is not 0 */
    /* how full the tables are; beyond these nothing is valid */
    _Atomic uint32_t strings, nodes, comms, modules, members, threads;
    /* what did not fit */
    _Atomic uint64_t nodes_lost, comms_lost, strings_lost, members_lost, threads_lost, requests_lost;
    _Atomic uint64_t statuses_lost; /* completions whose status was not filled in: their bytes are not known */
    _Atomic uint64_t sources_lost; /* functions of source files that share one entry */
    _Atomic uint64_t threads_uncounted; /* threads that could not count all that is counted */
    uint32_t counters[MRL_COUNTERS]; /* strings: what is counted */
    uint8_t counter_sources[MRL_COUNTERS];
    uint64_t counter_count;
    char uncounted[1024]; /* what was asked for and is not counted, and why */
    char host_name[64], program[128], library[256], mpi_name[32];
    struct mrl_offset first_offset, last_offset; /* at the beginning, and at the end */
    char params[1024]; /* name=number,...: what the user says of the run */
    uint64_t begun_in; /* where the time up to the main thread's first event began, as last_from has it */
    uint64_t sample_hz; /* 0: no samples were asked for, or none could be had */
    _Atomic uint64_t samples, samples_inside; /* taken; and of them, in MPI or Marple */
    _Atomic uint64_t samples_lost;            /* ... and found no room */
    _Atomic uint64_t threads_unsampled;
    uint64_t samples_ended; /* 1: early, because the program had a use for the signal */
    uint64_t unmerged;      /* records that MPI_Finalize did not merge; rank 0's */
    uint64_t ended_by;      /* index of the thread that ended the process from inside an MPI call, plus 1; 0: none did */
    char error[128];        /* what the library says of the error that was fatal */
    _Atomic uint64_t calls_left; /* MPI calls that did not return, because the program left them */
    uint64_t run;           /* the same in all ranks, and in those of no other run; 0: they have not agreed on one */
    struct mrl_traffic traffic;  /* from begin_tick to end_tick */
    uint64_t traffic_known;      /* 1: it is */
    uint64_t files_known;        /* 1: there are entries of files, and calls are counted; 3: until the program has confined itself */
    _Atomic uint64_t files_lost; /* times that a file was opened that found no entry */
};

#define MRL_HEADER_SIZE 4096u
_Static_assert(sizeof(struct mrl_header) <= MRL_HEADER_SIZE, "");

#define MRL_STRINGS_AT MRL_HEADER_SIZE
#define MRL_NODES_AT (MRL_STRINGS_AT + MRL_STRINGS_MAX)
#define MRL_COMMS_AT (MRL_NODES_AT + MRL_NODES_MAX * 32u)
#define MRL_MODULES_AT (MRL_COMMS_AT + MRL_COMMS_MAX * 64u)
#define MRL_MEMBERS_AT (MRL_MODULES_AT + MRL_MODULES_MAX * 64u)
#define MRL_LOST_AT (MRL_MEMBERS_AT + MRL_MEMBERS_MAX)
#define MRL_FILES_AT (MRL_LOST_AT + 4096u)
#define MRL_FILES_SIZE ((MRL_FILES * (uint32_t)sizeof(struct mrl_file) + 4095u) / 4096u * 4096u)
#define MRL_THREADS_AT (MRL_FILES_AT + MRL_FILES_SIZE)
_Static_assert(MRL_THREADS_AT % 4096u == 0, "thread blocks begin on a page");

#endif
