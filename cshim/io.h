/*
 * What libmarple-io.so, which stands before the C library's functions for files, tells libmarple.so. That library holds no
 * state and decides nothing: it asks before a call, and says after it what came of it.
 *
 * May use: libc. Invariant: both may be called by any thread at any time, in signal handlers and in children of vfork too;
 * errno stays what it was; nothing is open between the two, so that a call may be left by longjmp or be cancelled.
 */
#ifndef MRL_IO_H
#define MRL_IO_H

#include "caller.h"
#include "layout.h"

#include <stdbool.h>

struct mrl_thread;

/* One call, on the stack of its wrapper. */
struct mrl_io {
    struct mrl_thread *thread; /* that records it; NULL: it is only counted */
    uint64_t start;
    uint32_t node;
    uint16_t file;
    uint8_t kind;
};

struct mrl_io_hooks {
    uint32_t size;
    /* A call on a descriptor, or one that names a file. False: it is none of a file, or is not to be recorded. */
    bool (*begin)(struct mrl_io *io, enum mrl_io_kind kind, int descriptor, struct mrl_caller caller);
    /* It has moved so many bytes, less than 0: none. `opened` is the descriptor of the file that it has opened, or -1; `system`
     * says that it was a system call, `at` where on the descriptor it wrote, or -1 where it is not known. */
    void (*end)(struct mrl_io *io, int64_t bytes, int opened, bool system, int64_t at);
    /* From now on a descriptor is something else. */
    void (*forget)(int descriptor);
};

#define MRL_NAMED INT32_MIN /* the descriptor of a call that names a file */

extern const struct mrl_io_hooks marple_io_1 __attribute__((weak, visibility("default")));

#endif
