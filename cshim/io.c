/*
 * Files, with the setting `io`: what the C library's functions do with them (libmarple-io.so tells) and what MPI's do, by
 * file in a table of the mapped file, and by call path as regions. A region is recorded when its call has returned.
 */
#include "io.h"
#include "path.h"
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "file I/O"

static const char *const names[] = {[MRL_IO_READ] = "read (file)",   [MRL_IO_WRITE] = "write (file)", [MRL_IO_OPEN] = "open (file)",
                                    [MRL_IO_CLOSE] = "close (file)", [MRL_IO_SYNC] = "sync (file)",   [MRL_IO_METADATA] = "metadata (file)"};

/* What a descriptor is: 0 not known, 1 no file, or a file's entry and FIRST. Of further descriptors it is asked each time. */
#define DESCRIPTORS 16384u
#define FIRST 2u
static _Atomic uint16_t descriptors[DESCRIPTORS];

static struct mrl_file *file_at(uint32_t index)
{
    return (struct mrl_file *)(mrl.base + MRL_FILES_AT) + index;
}

void mrl_files_begin(void)
{
    if (mrl.settings.io && !dlsym(RTLD_DEFAULT, "marple_io_stands"))
        mrl_say("MARPLE_IO is set, but libmarple-io.so is not preloaded (`marple exec --io on` does that): of files, only MPI's functions are counted");
    if (mrl.settings.io && mrl_store_extend(MRL_FILES_AT, MRL_FILES_SIZE)) {
        mrl.header->files_known = 1;
        mrl.files = true;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            mrl_groups(names[i], GROUP);
    }
}

/* The entry of a file; 0, which is of all others, where there is no room. */
static uint32_t entry_of(const char *path)
{
    static _Atomic uint64_t keys[MRL_FILES]; /* beside each other, to be looked through */
    uint64_t key = mrl_hash(MRL_HASH, path);
    key += key == 0;
    for (uint32_t i = 1; i < MRL_FILES; i++) {
        uint64_t found = atomic_load_explicit(&keys[i], memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(&keys[i], &found, key)) {
            file_at(i)->path = mrl_string(path, 1023);
            atomic_store_explicit(&file_at(i)->key, key, memory_order_release);
            return i;
        }
        if (found == key)
            return i;
    }
    atomic_fetch_add_explicit(&mrl.header->files_lost, 1, memory_order_relaxed);
    return 0;
}

/* What a descriptor is, asked of the system. */
static MRL_COLD uint32_t ask(int descriptor)
{
    char link[64], path[1024];
    struct stat info;
    if (fstat(descriptor, &info) || !S_ISREG(info.st_mode))
        return 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return FIRST;
    path[n] = 0;
    return FIRST + entry_of(path);
}

static uint32_t what_is(int descriptor)
{
    if ((unsigned)descriptor >= DESCRIPTORS)
        return descriptor == MRL_NAMED ? FIRST : descriptor < 0 ? 1 : ask(descriptor);
    uint32_t what = atomic_load_explicit(&descriptors[descriptor], memory_order_relaxed);
    if (unlikely(!what)) {
        what = ask(descriptor);
        atomic_store_explicit(&descriptors[descriptor], (uint16_t)what, memory_order_relaxed);
    }
    return what;
}

static void forget(int descriptor)
{
    if ((unsigned)descriptor < DESCRIPTORS && atomic_load_explicit(&descriptors[descriptor], memory_order_relaxed))
        atomic_store_explicit(&descriptors[descriptor], 0, memory_order_relaxed);
}

/* A handler may run on a stack of its own, where nobody can tell what it has interrupted. */
static bool on_own_stack(const struct mrl_thread *t, uintptr_t sp)
{
    return t->paths->low <= sp && sp < t->paths->high;
}

/* With the place of the call, as those of MPI's functions: it says more than the function that it stands in. */
static uint32_t path_of(struct mrl_thread *t, enum mrl_io_kind kind, struct mrl_caller caller)
{
    const struct mrl_path *path = mrl_path_remembered(t, MRL_EVENT_ASIDE + kind, NULL, caller);
    if (unlikely(!path)) {
        struct mrl_node leaf = {.kind = MRL_NODE_REGION, .name = mrl_string(names[kind], 64)};
        path = mrl_path_walk(t, MRL_EVENT_ASIDE + kind, NULL, caller, &leaf);
    }
    return path->node;
}

static bool begin(struct mrl_io *io, enum mrl_io_kind kind, int descriptor, struct mrl_caller caller)
{
    if (likely(!atomic_load_explicit(&mrl.hooks, memory_order_relaxed)) || !mrl.files || mrl_is_ours((const void *)caller.pc) || mrl.confined)
        return false;
    struct mrl_thread *t = mrl_self;
    uintptr_t sp = mrl_stack();
    if (t && mrl_within(t, sp))
        return false;
    int error = errno;
    uint32_t what = getpid() == mrl.pid ? what_is(descriptor) : 1; /* a child of vfork has our memory */
    errno = error;
    if (what == 1)
        return false;
    *io = (struct mrl_io){.file = (uint16_t)(what - FIRST), .kind = (uint8_t)kind};
    if (t && on_own_stack(t, sp) && (t = mrl_enter_if(&mrl.hooks))) {
        io->node = path_of(t, kind, caller);
        io->thread = t;
        io->start = mrl_start(t);
        t->inside = 0;
        errno = error;
    } else {
        io->start = mrl_now();
    }
    return true;
}

static void add(struct mrl_file *file, enum mrl_io_kind kind, int64_t bytes, uint64_t ticks, bool system)
{
    struct mrl_io_sum *sum = &file->sums[kind];
    atomic_fetch_add_explicit(&sum->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sum->ticks, ticks, memory_order_relaxed);
    if (bytes > 0)
        atomic_fetch_add_explicit(&sum->bytes, (uint64_t)bytes, memory_order_relaxed);
    if (system && bytes > 0 && bytes < MRL_IO_BLOCK)
        atomic_fetch_add_explicit(&sum->small, 1, memory_order_relaxed);
}

static void end(struct mrl_io *io, int64_t bytes, int opened, bool system, int64_t at)
{
    int error = errno;
    struct mrl_thread *t = io->thread;
    uint64_t now;
    if (t && mrl_ended(t) <= io->start && mrl_enter_if(&mrl.hooks) == t) { /* unless a handler has recorded something meanwhile */
        now = mrl_stop(t, io->start);
        mrl_region_aside(t, io->node, io->start, now);
    } else {
        now = mrl_now();
    }
    if (opened >= 0) {
        forget(opened);
        uint32_t what = what_is(opened);
        io->file = what == 1 ? 0 : (uint16_t)(what - FIRST);
    }
    struct mrl_file *file = file_at(io->file);
    add(file, io->kind, bytes, now - io->start, system);
    if (io->kind == MRL_IO_WRITE && at >= 0 && bytes > 0 && (at % MRL_IO_BLOCK || (at + bytes) % MRL_IO_BLOCK))
        atomic_fetch_add_explicit(&file->unaligned, 1, memory_order_relaxed);
    errno = error;
}

/* The name that a program has given MPI_File_open, up to its end or padded with blanks: its entry and 1. 0: files are not counted. */
uint32_t mrl_file_named(const char *name, size_t length, uint64_t ticks)
{
    if (!mrl.files || mrl.confined)
        return 0;
    char path[1024] = "";
    size_t at = 0;
    for (length = strnlen(name, length); length > 0 && name[length - 1] == ' ';)
        length--;
    if (length > 0 && *name != '/' && !memchr(name, ':', length) && getcwd(path, sizeof path - 1)) {
        at = strlen(path);
        path[at++] = '/';
        for (; length > 1 && name[0] == '.' && name[1] == '/'; length -= 2)
            name += 2;
    }
    if (length > sizeof path - 1 - at)
        length = sizeof path - 1 - at;
    memcpy(path + at, name, length);
    path[at + length] = 0;
    uint32_t index = entry_of(path);
    add(file_at(index), MRL_IO_OPEN, 0, ticks, false);
    return index + 1;
}

void mrl_file_moved(uint32_t named, enum mrl_io_kind kind, int64_t bytes, uint64_t ticks)
{
    if (named && named <= MRL_FILES && mrl.files)
        add(file_at(named - 1), kind, bytes, ticks, true);
}

const struct mrl_io_hooks marple_io_1 = {.size = sizeof(struct mrl_io_hooks), .begin = begin, .end = end, .forget = forget};
