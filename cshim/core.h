/*
 * The door between C and Go: what libmarple.so calls in libmarple-core.so or libmarple-ranks.so, and what it lends it.
 * Included by both sides (bridge/ through cgo).
 */
#ifndef MRL_CORE_H
#define MRL_CORE_H

#include <stdint.h>

#define MRL_CORE_VERSION 11
#define MRL_CORE_THREADS 1024 /* MRL_THREADS_MAX */

/* What consume returns, and the other steps. REPLAY: done, and all ranks have what they need to replay. */
enum { MRL_CORE_DONE, MRL_CORE_MORE_ENTRIES, MRL_CORE_BROKEN, MRL_CORE_REPLAY };

/*
 * Messages between ranks at the end of the run, over MPI, on the calling thread. Each call gives up at
 * its deadline and returns nonzero; after that the transport is not used again. What a rank sends to its
 * parent in the tree is any number of frames: a length of 8 bytes, and a profile of that length.
 */
struct mrl_transport {
    int32_t rank, ranks;
    int (*send)(int32_t to, const void *data, uint64_t size);
    int (*receive_size)(int32_t from, uint64_t *size);
    int (*receive)(int32_t from, void *data, uint64_t size);
    /*
     * Letters, of at most MRL_LETTER bytes, to ranks that need not know of them. post does not wait: MRL_FULL if MRL_LETTERS of this
     * rank have not left yet. next takes the next one of whichever rank, and waits so long for it: no bytes, if none has come.
     */
    int (*post)(int32_t to, const void *data, uint64_t size);
    int (*next)(int32_t *from, void *data, uint64_t *size, uint64_t wait_ns);
};

#define MRL_LETTER 2048
#define MRL_LETTERS 64
#define MRL_FULL 2

enum mrl_report { MRL_REPORT_STDERR, MRL_REPORT_STDOUT, MRL_REPORT_NONE };

/* A directory, by its path and by what it was when it was made or first seen; the path is empty if there is none. */
struct mrl_place {
    const char *path;
    uint64_t device, inode;
};

struct mrl_finish {
    void *base;           /* struct mrl_header and tables */
    uint64_t size;        /* bytes mapped there */
    void **threads;       /* MRL_THREAD_SPAN bytes each, NULL where one could not be made */
    uint32_t thread_count;
    struct mrl_place directory; /* run directory */
    const char *families;  /* file of families to choose implementations from, empty: none */
    const char *machine;   /* file of marple doctor --machine, empty: none */
    const char *knowledge; /* directory of models beside the built-in ones, empty: none */
    const struct mrl_transport *transport; /* NULL: this process alone */
    void (*print)(const char *text, uint64_t size); /* the report, where the settings want it */
    void (*say)(const char *format, ...);           /* one line */
    const char *spool;     /* directory that takes a summary for the site, empty: none */
    const char *job, *account; /* of the scheduler, empty: none */
    const char *launcher;      /* whose it is that has started this process, empty: not known */
    int32_t launched;          /* how many it has started */
    int32_t keep_raw;                               /* files that have been read are to stay */
    int32_t full;                                   /* the report is printed with its tables */
    int32_t unkept;                                 /* it has been said that the directory takes nothing */
    int32_t replay;                                 /* who replays scenarios: a waitstate.Players */
    char why[256];                                  /* out: why a step gives up, or empty */
};

#define MRL_CORE_PANIC ".panic" /* what the name of the record file goes on with in that of a file: text and stack of the core's failure */
#define MRL_CORE_OPEN "marple_core_open"
#define MRL_CORE_CONSUME "marple_core_consume"
#define MRL_CORE_GATHER "marple_core_gather"     /* merges over ranks */
#define MRL_CORE_REPLAY_WAITS "marple_core_replay" /* all ranks together look for wait states */
#define MRL_CORE_CONCLUDE "marple_core_conclude" /* reports and stores; libmarple-ranks.so has none */
/*
 * A session, or NULL. Logs of events take log_bytes at most, in memory and beside raw_file; every: of all events. The
 * records of invocations take invocation_bytes of each thread, beside raw_file, which is the mapped file's name in raw;
 * empty: memory only.
 */
typedef void *mrl_core_open_fn(uint32_t version, void *base, uint64_t size, uint64_t log_bytes, int32_t every,
                               uint64_t invocation_bytes, struct mrl_place raw, const char *raw_file);
/* spill: what the name of a file goes on with beside raw_file, of records that come before those in the ring, or NULL */
typedef int mrl_core_consume_fn(void *session, uint32_t thread, void *block, uint64_t size, const char *spill);
typedef int mrl_core_finish_fn(void *session, struct mrl_finish *finish); /* the last three */

#endif
