/*
 * Threads and their buffers. A thread gets its block at its first event. A nearly full ring is handed
 * to the core by the thread that filled it; while there is no core it goes to a spill file of bounded
 * size, and beyond that its calls are counted by operation class and dropped.
 */
#include "sample.h"
#include "shield.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <unistd.h>

_Thread_local struct mrl_thread *mrl_self __attribute__((tls_model("initial-exec")));

static pthread_key_t ending;

/* Kept: for the main thread the C library reads /proc/self/maps, a millisecond where much is mapped. */
bool mrl_stack_bounds(uintptr_t *low, uintptr_t *high)
{
    static _Thread_local uintptr_t lowest, end;
    if (!end) {
        pthread_attr_t attributes;
        void *start;
        size_t size;
        if (pthread_getattr_np(pthread_self(), &attributes))
            return false;
        pthread_attr_getstack(&attributes, &start, &size);
        pthread_attr_destroy(&attributes);
        lowest = (uintptr_t)start;
        end = lowest + size;
    }
    *low = lowest;
    *high = end;
    return true;
}

/* A thread ends: its block stays, for its records and for the next thread. */
static void thread_ended(void *block)
{
    struct mrl_thread *t = block;
    if (t->inside == MRL_LEFT && mrl.on)
        mrl.over(t);
    if (mrl.counters && mrl.pid == getpid()) {
        if (mrl.on)
            mrl_counters_total(t);
        mrl_counters_end(t);
    }
    mrl_samples_thread_end(t);
    mrl_self = NULL;
    t->inside = 0;
    atomic_store_explicit(&t->owned, 0, memory_order_release);
}

/* A block whose thread has ended, now this thread's; programs may start threads without end. */
static struct mrl_thread *inherit(void)
{
    uint32_t count = atomic_load(&mrl.header->threads);
    for (uint32_t i = 0; i < count && i < MRL_THREADS_MAX; i++) {
        struct mrl_thread *t = atomic_load(&mrl.threads[i]);
        uint32_t nobody = 0;
        if (t && atomic_compare_exchange_strong_explicit(&t->owned, &nobody, 1, memory_order_acquire, memory_order_relaxed))
            return t;
    }
    return NULL;
}

static struct mrl_thread *create(void)
{
    uint32_t index;
    struct mrl_thread *t = mrl_store_thread(&index);
    if (!t)
        return NULL;
    t->index = index;
    t->undo_batch = UINT64_MAX;
    t->drop_at = UINT64_MAX;
    t->flush_at = MRL_RECORDS - MRL_RESERVE;
    t->entries_ready = MRL_ENTRIES_FIRST;
    atomic_store(&t->owned, 1);
    atomic_store(&mrl.threads[index], t);
    return t;
}

bool mrl_threads_begin(void)
{
    struct mrl_thread *first = pthread_key_create(&ending, thread_ended) ? NULL : create();
    if (first)
        atomic_store(&first->owned, 0);
    return first;
}

static struct mrl_thread *attach(void)
{
    struct mrl_thread *t = mrl.confined ? NULL : inherit();
    if (mrl.confined)
        atomic_fetch_add(&mrl.header->threads_lost, 1);
    if (!t && (mrl.confined || !(t = create())))
        return NULL;
    if (!mrl_paths_begin(t)) {
        atomic_fetch_add(&mrl.header->threads_lost, 1);
        atomic_store(&t->owned, 0);
        return NULL;
    }
    bool inherited = t->owners++ > 0;
    t->where = MRL_ROOT_NODE;
    t->bad_exits += t->depth;
    t->depth = 0;
    t->unentered = 0;
    t->own_ticks = t->noticed_off = t->noticed_blocked = t->noticed_at = 0;
    t->os_tid = (uint64_t)syscall(SYS_gettid);
    if (mrl.counters)
        mrl_counters_begin(t);
    if (mrl.long_ticks != UINT64_MAX)
        mrl_cpu_begin(t);
    t->last_end = mrl_now();
    if (!inherited) {
        t->begin_tick = t->last_tick = t->last_end;
    } else {
        uint64_t at = mrl_head(t);
        mrl_slot(t, at)->record = (struct mrl_record){.start = t->last_end, .peer = MRL_NO_PEER, .kind = MRL_BEGIN};
        atomic_store_explicit(&t->head, at + 1, memory_order_release);
    }
    mrl_self = t;
    pthread_setspecific(ending, t);
    if (mrl.sampling)
        mrl_samples_thread_begin(t);
    return t;
}

/* Opening a file is a point of cancellation, which MPI's calls need not be. */
MRL_COLD struct mrl_thread *mrl_attach(void)
{
    static _Thread_local bool refused; /* at each call again would take time, and be counted */
    struct mrl_shield shield;
    if (!mrl.started || mrl.stopped || refused)
        return NULL;
    bool open = !mrl.confined; /* or even these calls may be forbidden */
    if (open)
        mrl_shield(&shield);
    struct mrl_thread *t = attach();
    if (open)
        mrl_unshield(&shield);
    refused = !t;
    return t;
}

static uint64_t moved(struct mrl_thread *t)
{
    uint64_t consumed = atomic_load(&t->consumed), spilled = atomic_load(&t->spilled);
    return consumed > spilled ? consumed : spilled;
}

static void count_lost(struct mrl_thread *t, uint64_t from, uint64_t to)
{
    const union mrl_slot *ring = (const union mrl_slot *)((char *)t + MRL_RING_AT);
    struct mrl_lost *lost = (struct mrl_lost *)(mrl.base + MRL_LOST_AT);
    for (; from < to; from++) {
        const struct mrl_record *r = &ring[from & (MRL_RECORDS - 1)].record;
        if (r->kind != MRL_CALL)
            continue;
        struct mrl_lost *l = &lost[mrl_node_at(r->path)->op];
        __atomic_fetch_add(&l->calls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&l->ticks, r->duration, __ATOMIC_RELAXED);
        __atomic_fetch_add(&l->bytes, r->bytes, __ATOMIC_RELAXED);
    }
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool append(struct mrl_thread *t, uint64_t from, uint64_t to)
{
    const char *ring = (const char *)t + MRL_RING_AT;
    char name[MRL_SPILL_NAME];
    uint64_t most = (uint64_t)mrl.settings.spill * 1048576u;
    struct rlimit limit;
    if (!mrl.in_file || mrl.confined)
        return false;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < most)
        most = limit.rlim_cur;
    if (to * 32 > most)
        return false;
    mrl_spill_name(name, t->index);
    int fd = mrl_raw_open(name, O_WRONLY | O_CREAT);
    if (fd < 0)
        return false;
    /* At the place that belongs to it: a torn earlier attempt is overwritten. */
    bool ok = lseek(fd, (off_t)(from * 32), SEEK_SET) >= 0;
    while (ok && from < to) {
        uint64_t at = from & (MRL_RECORDS - 1), n = to - from;
        if (n > MRL_RECORDS - at)
            n = MRL_RECORDS - at;
        ok = write_all(fd, ring + at * 32, n * 32);
        from += n;
    }
    close(fd);
    return ok;
}

/* Makes room in the ring without the core. */
static void spill(struct mrl_thread *t)
{
    uint64_t head = mrl_head(t), from = moved(t);
    bool dropping = t->drop_at != UINT64_MAX;
    if (dropping || !append(t, from, head)) {
        if (!dropping)
            t->drop_at = from;
        t->dropped += head - from;
        count_lost(t, from, head);
    }
    atomic_store_explicit(&t->spilled, head, memory_order_release);
}

static bool claim(struct mrl_thread *t)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong(&t->consumer, &nobody, 1);
}

MRL_COLD void mrl_flush(struct mrl_thread *t)
{
    uint64_t begin = mrl_now();
    struct mrl_shield shield;
    if (mrl.confined) {
        spill(t);
        t->flush_at = moved(t) + MRL_RECORDS - MRL_RESERVE;
        mrl.header->last = mrl_instant_now();
        return;
    }
    mrl_shield(&shield);
    if (mrl.counters)
        mrl_counters_pause(t);
    if (claim(t)) {
        if (!mrl_core_consume(t))
            spill(t);
        atomic_store(&t->consumer, 0);
    }
    mrl_unwind_refresh(); /* in case dlclose was called past us */
    if (mrl.counters)
        mrl_counters_resume(t);
    mrl_unshield(&shield);
    t->flush_at = moved(t) + MRL_RECORDS - MRL_RESERVE;
    mrl.header->last = mrl_instant_now();
    mrl_own(t, begin);
}

/* Hands over what all threads still hold. Called once, when no more events are recorded. */
void mrl_drain(void)
{
    uint32_t count = atomic_load(&mrl.header->threads);
    for (uint32_t i = 0; i < count && i < MRL_THREADS_MAX; i++) {
        struct mrl_thread *t = atomic_load(&mrl.threads[i]);
        if (t && claim(t)) {
            mrl_core_consume_rest(t);
            atomic_store(&t->consumer, 0);
        }
    }
}
