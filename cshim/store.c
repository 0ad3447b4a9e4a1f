/*
 * The mapped file and its tables. The file is extended in steps with posix_fallocate before it is
 * touched, because a store to a hole on a full disk would kill the application; it is opened by name
 * each time, so that no file descriptor of ours is ever among the application's. Without a writable
 * directory the same layout lives in anonymous memory.
 *
 * Tables are append-only and bounded. Interning is lock-free: an index slot is claimed by
 * compare-and-swap once the item is complete.
 */
#include "shield.h"
#include "shim.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define STEP 65536u /* files grow by this much at least */
#define NODES_SPARE 1024u /* nodes kept back for calls whose own path finds no room */
#define THREAD_BYTES (MRL_ENTRIES_AT + MRL_ENTRIES_FIRST * MRL_ENTRY_SIZE) /* of a thread at first */

struct arena {
    uint64_t at, limit;      /* offset in the mapping, size in bytes */
    _Atomic uint64_t ready; /* bytes backed by storage */
    _Atomic bool full;      /* there was no storage for more, which is not asked for again */
};
static struct arena string_arena = {.at = MRL_STRINGS_AT, .limit = MRL_STRINGS_MAX};
static struct arena node_arena = {.at = MRL_NODES_AT, .limit = MRL_NODES_MAX * sizeof(struct mrl_node)};
static struct arena comm_arena = {.at = MRL_COMMS_AT, .limit = MRL_COMMS_MAX * sizeof(struct mrl_comm)};
static struct arena module_arena = {.at = MRL_MODULES_AT, .limit = MRL_MODULES_MAX * sizeof(struct mrl_module)};
static struct arena member_arena = {.at = MRL_MEMBERS_AT, .limit = MRL_MEMBERS_MAX};
static struct arena *const arenas[] = {&string_arena, &node_arena, &comm_arena, &module_arena, &member_arena};

/* Hash indices over strings and nodes: derivable, hence private memory. */
#define STRING_SLOTS 16384u
#define NODE_SLOTS (2 * MRL_NODES_MAX)
static _Atomic uint32_t *string_slots, *node_slots;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    return x;
}

bool mrl_store_extend(uint64_t at, uint64_t bytes)
{
    if (!mrl.in_file)
        return true;
    if (mrl.confined)
        return false;
    struct mrl_shield shield;
    mrl_shield(&shield);
    int fd = mrl_raw_open(mrl.file, O_RDWR), failed = fd < 0;
    if (!failed) {
        failed = posix_fallocate(fd, (off_t)at, (off_t)bytes);
        close(fd);
    }
    mrl_unshield(&shield);
    return !failed;
}

/* Backs the first `used` bytes of an arena with storage. */
static bool reserve(struct arena *a, uint64_t used)
{
    uint64_t ready = atomic_load_explicit(&a->ready, memory_order_acquire);
    if (likely(used <= ready))
        return true;
    if (used > a->limit || atomic_load_explicit(&a->full, memory_order_relaxed))
        return false;
    uint64_t wanted = (used + STEP - 1) / STEP * STEP;
    if (wanted > a->limit)
        wanted = a->limit;
    if (!mrl_store_extend(a->at + ready, wanted - ready)) {
        atomic_store_explicit(&a->full, true, memory_order_relaxed);
        return false;
    }
    while (ready < wanted && !atomic_compare_exchange_weak(&a->ready, &ready, wanted))
        ;
    return true;
}

static void *private_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Most of the file is never touched, and none of it is read: reading ahead at the first page would fill thousands of others. */
static void *mapped(int fd, size_t bytes, uint64_t at)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    if (p != MAP_FAILED)
        madvise(p, bytes, MADV_RANDOM);
    return p;
}

/* Exceeding RLIMIT_FSIZE raises a signal, so ask first. */
static bool size_allowed(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

void mrl_store_name(char out[MRL_FILE], int rank)
{
    snprintf(out, MRL_FILE, "rank-%06d.mrl", rank);
}

/* Storage for what every run needs, so that a rank which begins can go on. Returns an errno. */
static int furnish(int fd)
{
    static const struct {
        uint64_t at, bytes;
    } needed[] = {
        {0, MRL_HEADER_SIZE},
        {MRL_LOST_AT, MRL_FILES_AT - MRL_LOST_AT},
        {MRL_THREADS_AT, THREAD_BYTES},
        {MRL_THREADS_AT + MRL_THREAD_SPAN - 1, 1}, /* makes the file long enough */
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed && !failed; i++)
        failed = posix_fallocate(fd, (off_t)needed[i].at, (off_t)needed[i].bytes);
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas && !failed; i++) {
        uint64_t bytes = arenas[i]->limit < STEP ? arenas[i]->limit : STEP;
        failed = posix_fallocate(fd, (off_t)arenas[i]->at, (off_t)bytes);
        arenas[i]->ready = failed ? 0 : bytes;
    }
    return failed;
}

/* The first thread's, mapped with the tables: from here on nothing that a run needs depends on the directory. */
static void *first_block;

static char *map_file(const char *directory, int rank)
{
    mrl_store_name(mrl.file, rank);
    if (!mrl_enter_directory(directory))
        return NULL;
    if (!size_allowed(MRL_THREADS_AT + 2 * (uint64_t)MRL_THREAD_SPAN)) {
        errno = EFBIG;
        return NULL;
    }
    int fd = mrl_raw_open(mrl.file, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0)
        return NULL;
    char *base = MAP_FAILED;
    int failed = furnish(fd);
    if (!failed) {
        base = mapped(fd, MRL_THREADS_AT, 0);
        first_block = base == MAP_FAILED ? MAP_FAILED : mapped(fd, MRL_THREAD_SPAN, MRL_THREADS_AT);
        failed = first_block == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (!failed) {
        mrl.in_file = true;
        return base;
    }
    if (base != MAP_FAILED)
        munmap(base, MRL_THREADS_AT);
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++)
        arenas[i]->ready = 0;
    mrl_raw_remove(mrl.file);
    errno = failed;
    return NULL;
}

/* With no directory, or none that can be written (see file_error), the store is memory only. False: not even that. */
bool mrl_store_open(const char *directory, int rank)
{
    mrl.base = directory && *directory ? map_file(directory, rank) : NULL;
    if (!mrl.in_file) {
        mrl.file_error = directory && *directory ? errno : 0;
        mrl.base = private_memory(MRL_THREADS_AT);
    }
    string_slots = private_memory(STRING_SLOTS * sizeof *string_slots);
    node_slots = private_memory(NODE_SLOTS * sizeof *node_slots);
    if (!mrl.base || !string_slots || !node_slots)
        return false;
    mrl.size = MRL_THREADS_AT;

    struct mrl_header *h = (struct mrl_header *)mrl.base;
    h->version = MRL_VERSION;
    h->header_size = sizeof *h;
    h->pid = (uint32_t)getpid();
    h->rank = rank;
    atomic_store(&h->strings, 1); /* index 0 is the empty string */
    mrl.header = h;
    mrl_node_at(MRL_ROOT_NODE)->kind = MRL_NODE_ROOT;
    mrl_node_at(MRL_OVERFLOW_NODE)->kind = MRL_NODE_OVERFLOW;
    atomic_store(&h->nodes, 2);
    memcpy(h->magic, MRL_MAGIC, sizeof h->magic);
    return true;
}

void mrl_spill_name(char *out, uint32_t thread)
{
    snprintf(out, MRL_SPILL_NAME, "%s" MRL_SPILL_SUFFIX, mrl.file, thread);
}

/* Everything is merged and stored elsewhere: the raw file has done its work. */
void mrl_store_remove(void)
{
    if (!mrl.in_file)
        return;
    mrl_raw_remove(mrl.file);
    char name[MRL_SPILL_NAME];
    for (uint32_t i = 0; i < atomic_load(&mrl.header->threads) && i < MRL_THREADS_MAX; i++) {
        struct mrl_thread *t = atomic_load(&mrl.threads[i]);
        if (t && atomic_load(&t->spilled)) {
            mrl_spill_name(name, i);
            mrl_raw_remove(name);
        }
        if (mrl.settings.log) { /* analysis/record.LogName */
            snprintf(name, sizeof name, "%s.%u.log", mrl.file, i);
            mrl_raw_remove(name);
        }
        if (mrl.apart) { /* analysis/invocation/left: rank 0 does not see them */
            snprintf(name, sizeof name, "%s.%u.calls", mrl.file, i);
            mrl_raw_remove(name);
        }
    }
    if (mrl.apart) {
        snprintf(name, sizeof name, "%s.calls.json", mrl.file);
        mrl_raw_remove(name);
    }
}

/* Storage for one more thread: everything but most of its aggregates, which grow on demand. */
struct mrl_thread *mrl_store_thread(uint32_t *index)
{
    uint32_t i = atomic_fetch_add(&mrl.header->threads, 1);
    if (i >= MRL_THREADS_MAX) {
        atomic_fetch_add(&mrl.header->threads_lost, 1);
        return NULL;
    }
    void *block = MAP_FAILED;
    uint64_t at = MRL_THREADS_AT + i * (uint64_t)MRL_THREAD_SPAN;
    if (mrl.in_file && i == 0) {
        block = first_block;
    } else if (mrl.in_file) {
        /* Its last byte makes the file long enough. Never ftruncate: another thread may have extended it further. */
        bool room = size_allowed(at + MRL_THREAD_SPAN) && mrl_store_extend(at, THREAD_BYTES) &&
                    mrl_store_extend(at + MRL_THREAD_SPAN - 1, 1);
        int fd = room ? mrl_raw_open(mrl.file, O_RDWR) : -1;
        if (fd >= 0) {
            block = mapped(fd, MRL_THREAD_SPAN, at);
            close(fd);
        }
    } else {
        block = mmap(NULL, MRL_THREAD_SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (block == MAP_FAILED) {
        atomic_fetch_add(&mrl.header->threads_lost, 1);
        return NULL;
    }
    /* Faults now, not between two events. */
    for (uint32_t page = 0; page < MRL_UNDO_AT; page += 4096)
        ((volatile char *)block)[page] = 0;
    *index = i;
    return block;
}

/*
 * Interning: `same` compares an item with the key, `make` appends it and returns its index (0: no
 * room). Items are append-only, so a slot once set never changes.
 */
struct key {
    const char *text;
    uint32_t length;
    struct mrl_node node;
};

static uint32_t intern(_Atomic uint32_t *slots, uint32_t count, uint64_t hash, const struct key *key,
                       bool (*same)(uint32_t, const struct key *), uint32_t (*make)(const struct key *))
{
    uint32_t made = 0;
    for (uint32_t probe = 0; probe < count; probe++) {
        _Atomic uint32_t *slot = &slots[(hash + probe) & (count - 1)];
        uint32_t item = atomic_load_explicit(slot, memory_order_acquire);
        if (item == 0) {
            if (!made && !(made = make(key)))
                return 0;
            if (atomic_compare_exchange_strong(slot, &item, made))
                return made;
        }
        if (same(item, key))
            return item; /* losing a race leaves an unused copy behind, which harms nobody */
    }
    return 0;
}

static bool same_string(uint32_t item, const struct key *key)
{
    return strncmp(mrl_text(item), key->text, key->length) == 0 && mrl_text(item)[key->length] == 0;
}

static uint32_t make_string(const struct key *key)
{
    uint32_t at = atomic_load(&mrl.header->strings);
    do {
        if (!reserve(&string_arena, (uint64_t)at + key->length + 1)) {
            atomic_fetch_add(&mrl.header->strings_lost, 1);
            return 0;
        }
    } while (!atomic_compare_exchange_weak(&mrl.header->strings, &at, at + key->length + 1));
    memcpy(mrl.base + MRL_STRINGS_AT + at, key->text, key->length);
    return at;
}

/* Index of a text of at most `length` bytes, cut at 1024; 0 (the empty string) when there is no room. */
uint32_t mrl_string(const char *text, size_t length)
{
    struct key key = {.text = text, .length = (uint32_t)strnlen(text, length < 1024 ? length : 1024)};
    if (key.length == 0)
        return 0;
    uint64_t hash = key.length;
    for (uint32_t i = 0; i < key.length; i++)
        hash = mix(hash ^ (unsigned char)text[i]);
    return intern(string_slots, STRING_SLOTS, hash, &key, same_string, make_string);
}

static bool same_node(uint32_t item, const struct key *key)
{
    const struct mrl_node *a = mrl_node_at(item), *b = &key->node;
    return a->parent == b->parent && a->kind == b->kind && a->key == b->key && a->name == b->name && a->site == b->site &&
           a->site_module == b->site_module;
}

static uint32_t make_node(const struct key *key)
{
    uint32_t most = MRL_NODES_MAX - (key->node.parent == MRL_OVERFLOW_NODE ? 0 : NODES_SPARE);
    uint32_t at = atomic_load(&mrl.header->nodes);
    do {
        if (at >= most || !reserve(&node_arena, (at + 1) * sizeof(struct mrl_node)))
            return 0;
    } while (!atomic_compare_exchange_weak(&mrl.header->nodes, &at, at + 1));
    struct mrl_node *node = mrl_node_at(at), filled = key->node;
    filled.kind = MRL_NODE_FREE;
    *node = filled;
    atomic_signal_fence(memory_order_release);
    *(volatile uint8_t *)&node->kind = key->node.kind;
    return at;
}

/* The node like this one. When the table is full: the same under the overflow node. */
uint32_t mrl_node(const struct mrl_node *wanted)
{
    struct key key = {.node = *wanted};
    const struct mrl_node *n = &key.node;
    for (;;) {
        uint64_t hash = mix(mix(n->key ^ ((uint64_t)n->parent << 32)) ^ ((uint64_t)n->name << 8) ^ n->kind ^ n->site << 16);
        uint32_t at = intern(node_slots, NODE_SLOTS, hash, &key, same_node, make_node);
        if (at)
            return at;
        atomic_fetch_add(&mrl.header->nodes_lost, 1);
        if (n->parent == MRL_OVERFLOW_NODE || n->kind != MRL_NODE_MPI)
            return MRL_OVERFLOW_NODE;
        key.node.parent = MRL_OVERFLOW_NODE;
        key.node.site = key.node.site_module = 0;
    }
}

struct mrl_comm *mrl_comm_at(uint32_t index)
{
    return (struct mrl_comm *)(mrl.base + MRL_COMMS_AT) + index;
}

/* A new communicator, or MRL_NONE. Index 0 is made first and stands for all that found no room. */
uint32_t mrl_comm_new(void)
{
    uint32_t at = atomic_load(&mrl.header->comms);
    do {
        if (!reserve(&comm_arena, (at + 1) * sizeof(struct mrl_comm))) {
            atomic_fetch_add(&mrl.header->comms_lost, 1);
            return MRL_NONE;
        }
    } while (!atomic_compare_exchange_weak(&mrl.header->comms, &at, at + 1));
    return at;
}

/* Room for runs of members; the offset in the arena, or MRL_NONE. */
uint32_t mrl_members_new(uint32_t runs, struct mrl_run **out)
{
    uint32_t at = atomic_load(&mrl.header->members);
    do {
        if (!reserve(&member_arena, at + runs * sizeof(struct mrl_run))) {
            atomic_fetch_add(&mrl.header->members_lost, 1);
            return MRL_NONE;
        }
    } while (!atomic_compare_exchange_weak(&mrl.header->members, &at, at + runs * (uint32_t)sizeof(struct mrl_run)));
    *out = (struct mrl_run *)(mrl.base + MRL_MEMBERS_AT + at);
    return at;
}

struct search {
    uintptr_t address;
    struct mrl_module found;
    const char *path; /* the loader's; good while the module's code runs */
};

static void read_build_id(struct mrl_module *m, const char *note, const char *end)
{
    while (end - note >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)note;
        const char *name = note + sizeof *n;
        const char *value = name + ((n->n_namesz + 3) & ~3u);
        if (n->n_namesz > (size_t)(end - name) || value > end || n->n_descsz > (size_t)(end - value))
            return;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            m->build_id_len = n->n_descsz < sizeof m->build_id ? (uint8_t)n->n_descsz : sizeof m->build_id;
            memcpy(m->build_id, value, m->build_id_len);
            return;
        }
        note = value + ((n->n_descsz + 3) & ~3u);
    }
}

static int look_in_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct search *s = data;
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
        low = from < low ? from : low;
        high = to > high ? to : high;
    }
    if (s->address < low || s->address >= high)
        return 0;
    s->found.low = low;
    s->found.high = high;
    s->found.bias = info->dlpi_addr;
    s->path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_NOTE && !s->found.build_id_len)
            read_build_id(&s->found, at, at + p->p_memsz);
    }
    return 1;
}

struct mrl_module *mrl_module_at(uint32_t index)
{
    return (struct mrl_module *)(mrl.base + MRL_MODULES_AT) + index;
}

/* The same module may be loaded again at another address. Without a build id only its path tells it from others. */
static uint32_t known_module(const struct mrl_module *wanted)
{
    uint32_t count = atomic_load(&mrl.header->modules);
    for (uint32_t i = 0; i < count; i++) {
        const struct mrl_module *m = mrl_module_at(i);
        if (m->source == wanted->source && m->build_id_len == wanted->build_id_len && memcmp(m->build_id, wanted->build_id, sizeof m->build_id) == 0 &&
            (m->build_id_len || m->path == wanted->path))
            return i;
    }
    return MRL_NONE;
}

/*
 * The module an address lies in and the address's offset there (its ELF virtual address), which is the
 * same in all ranks whatever the address space layout. MRL_NONE for code that belongs to no module.
 */
uint32_t mrl_module(uintptr_t address, uint64_t *offset)
{
    struct search s = {.address = address};
    *offset = address;
    if (!dl_iterate_phdr(look_in_module, &s))
        return MRL_NONE;
    *offset = address - s.found.bias;
    uint32_t known = s.found.build_id_len ? known_module(&s.found) : MRL_NONE;
    if (known != MRL_NONE)
        return known;
    char *absolute = realpath(s.path, NULL); /* the thread's stack may be too small for PATH_MAX */
    s.found.path = mrl_string(absolute ? absolute : s.path, PATH_MAX);
    free(absolute);
    if ((known = known_module(&s.found)) != MRL_NONE)
        return known;
    /* Two threads may add the same module twice; keys compare by build id and path in the end. */
    uint32_t count = atomic_load(&mrl.header->modules);
    do {
        if (!reserve(&module_arena, (count + 1) * sizeof(struct mrl_module)))
            return MRL_NONE;
    } while (!atomic_compare_exchange_weak(&mrl.header->modules, &count, count + 1));
    *mrl_module_at(count) = s.found;
    return count;
}

static uint32_t add_source(const struct mrl_module *source)
{
    uint32_t count = atomic_load(&mrl.header->modules);
    do {
        if (!reserve(&module_arena, (count + 1) * sizeof(struct mrl_module)))
            return MRL_NONE;
    } while (!atomic_compare_exchange_weak(&mrl.header->modules, &count, count + 1));
    *mrl_module_at(count) = *source;
    return count;
}

static uint32_t further_sources; /* the one that stands for all without room */

bool mrl_sources_begin(void)
{
    struct mrl_module further = {.path = mrl_string("(further source files)", PATH_MAX), .source = 1};
    further_sources = further.path ? add_source(&further) : MRL_NONE;
    return further_sources != MRL_NONE;
}

/* A source file: at most every other place is for them, since libraries need some, too. */
uint32_t mrl_source(const char *path)
{
    struct mrl_module wanted = {.path = mrl_string(path, PATH_MAX), .source = 1};
    uint32_t known = wanted.path ? known_module(&wanted) : MRL_NONE;
    if (known != MRL_NONE)
        return known;
    static _Atomic uint32_t sources;
    if (wanted.path && atomic_fetch_add(&sources, 1) < MRL_MODULES_MAX / 2)
        known = add_source(&wanted);
    if (known == MRL_NONE)
        atomic_fetch_add(&mrl.header->sources_lost, 1);
    return known == MRL_NONE ? further_sources : known;
}
