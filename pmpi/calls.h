/*
 * What the generated wrappers are made of. Everything here is inlined into them; what runs at each MPI
 * call is: two readings of the clock, a look-up of the call path and of the communicator, one record.
 */
#ifndef MRL_CALLS_H
#define MRL_CALLS_H

#include "../cshim/path.h"
#include "abi.h"
#include "comm.h"
#include "next.h"
#include "request.h"

#define MRL_INLINE static inline __attribute__((always_inline))
#define MRL_EXPORT __attribute__((visibility("default")))

/* The path of a call of function f. */
uint32_t mrl_path_of(struct mrl_thread *t, enum mrl_function_id f, uintptr_t pc, uintptr_t sp, uintptr_t fp);

MRL_INLINE uint32_t mrl_path(struct mrl_thread *t, enum mrl_function_id f, struct mrl_caller caller)
{
    return mrl_path_of(t, f, caller.pc, caller.sp, caller.fp);
}
MRL_COLD uint32_t mrl_function_named(enum mrl_function_id f);
extern MRL_HIDDEN _Atomic uint32_t mrl_function_names[MRL_FUNCTIONS]; /* strings, 0 where not called yet */

/* Says which call the thread is in, in case it does not come back. */
MRL_INLINE void mrl_calling(struct mrl_thread *t, enum mrl_function_id f, struct mrl_caller caller, uint64_t start, int32_t peer, mrl_word comm)
{
    uint32_t name = atomic_load_explicit(&mrl_function_names[f], memory_order_relaxed);
    t->called = start;
    t->called_from = caller.pc;
    t->calling = likely(name) ? name : mrl_function_named(f);
    t->calling_peer = peer;
    t->calling_comm = mrl_handle(comm);
}

int64_t mrl_type_miss(struct mrl_thread *t, mrl_word type);
void mrl_forget(struct mrl_thread *t);

/* The thread's caches of what handles mean are good until some thread frees or makes one. */
MRL_INLINE void mrl_check_caches(struct mrl_thread *t)
{
    if (unlikely(t->epoch != atomic_load_explicit(&mrl.epoch, memory_order_relaxed)))
        mrl_forget(t);
}

/* Bytes of one element. Only for types the library has just accepted and looked at: asking about others is an error. */
MRL_INLINE int64_t mrl_type_size(struct mrl_thread *t, mrl_word word)
{
    mrl_word type = mrl_handle(word);
    const struct mrl_type *cached = &t->types[(type ^ type >> 6) & (MRL_TYPES - 1)];
    return likely(cached->handle == type) ? cached->size : mrl_type_miss(t, type);
}

/* Ranks and tags as analysis sees them. */
MRL_INLINE int32_t mrl_peer(mrl_word word)
{
    int rank = (int)word;
    if (likely(rank >= 0))
        return rank;
    return rank == mrl_abi.any_source ? MRL_ANY : rank == mrl_abi.proc_null ? MRL_PROC_NULL : rank == mrl_abi.root ? MRL_ROOT : MRL_NO_PEER;
}

MRL_INLINE int32_t mrl_tag(mrl_word word)
{
    int tag = (int)word;
    return tag == mrl_abi.any_tag ? MRL_ANY : tag;
}

/* A status to read afterwards: the application's, or ours where it ignores it. */
MRL_INLINE mrl_word mrl_status(mrl_word word, void *ours)
{
    return (intptr_t)word == mrl_abi.status_ignore ? (mrl_word)(uintptr_t)ours : word;
}

MRL_INLINE int mrl_status_field(mrl_word status, unsigned at)
{
    return *(const int *)(status + at);
}

int64_t mrl_status_ask(mrl_word status, bool *cancelled);

MRL_INLINE int64_t mrl_status_bytes(mrl_word status, bool *cancelled)
{
    switch (mrl_abi.count_at) {
    case MRL_COUNT_OMPI:
        *cancelled = mrl_status_field(status, 12) != 0;
        return *(const int64_t *)(status + 16);
    case MRL_COUNT_MPICH:
        *cancelled = mrl_status_field(status, 4) & 1;
        return (int64_t)((uint64_t)(uint32_t)mrl_status_field(status, 0) |
                         (uint64_t)((uint32_t)mrl_status_field(status, 4) >> 1) << 32);
    case MRL_COUNT_ASK:
        break;
    }
    return mrl_status_ask(status, cancelled);
}

/* Of an operation on a file: ROMIO lets a program give it no status at all. */
MRL_INLINE int64_t mrl_moved(mrl_word status)
{
    bool cancelled;
    return status ? mrl_status_bytes(status, &cancelled) : 0;
}

/* One of an array of statuses; 0 if the application ignores them and there was no room for ours. */
MRL_INLINE mrl_word mrl_status_of(mrl_word statuses, int64_t i)
{
    return (intptr_t)statuses == mrl_abi.status_ignore ? 0 : statuses + (uint64_t)i * mrl_abi.status_bytes;
}

struct mrl_received_message {
    int32_t peer, tag;
    int64_t bytes;
    bool cancelled;
};

MRL_INLINE struct mrl_received_message mrl_read_status(mrl_word status)
{
    struct mrl_received_message m;
    m.peer = mrl_peer((mrl_word)mrl_status_field(status, mrl_abi.source_at));
    m.tag = mrl_tag((mrl_word)mrl_status_field(status, mrl_abi.tag_at));
    m.bytes = mrl_status_bytes(status, &m.cancelled);
    return m;
}

/* What a call was, for its record. */
struct mrl_call {
    uint64_t start, end;
    uint32_t path;
    int32_t peer, tag;
    int64_t out, in; /* bytes */
    uint32_t comm;
    uint8_t flags;
};

void mrl_make_room(struct mrl_thread *t, uint64_t at);
MRL_COLD uint64_t mrl_write_more(struct mrl_thread *t, const struct mrl_call *c, uint64_t at);
void mrl_call_over(struct mrl_thread *t); /* mrl.over */
/* Whether a call has failed only because the message was longer than the room for it: it has been received. */
MRL_COLD bool mrl_cut_off(int rc);
MRL_COLD int mrl_failed(struct mrl_thread *t, enum mrl_function_id f, struct mrl_caller caller, uint64_t start, uint64_t end, int rc);

/*
 * Writes the record of a call and returns the position behind it. A collective keeps the bytes it
 * received in the tag's place; a point-to-point call has either bytes out or bytes in, or is written by
 * mrl_write_both.
 */
MRL_INLINE uint64_t mrl_write(struct mrl_thread *t, enum mrl_op op, const struct mrl_call *c)
{
    uint64_t at = mrl_head(t), duration = c->end - c->start;
    t->made[op]++;
    uint32_t tag = c->flags & MRL_COLLECTIVE ? (uint32_t)c->in : (uint32_t)c->tag;
    uint32_t bytes = c->flags & MRL_COLLECTIVE ? (uint32_t)c->out : (uint32_t)(c->out | c->in);
    uint64_t *word = mrl_slot(t, at)->words; /* four stores instead of nine */
    t->mpi_sum += duration;
    word[0] = c->start;
    word[1] = (uint32_t)duration | (uint64_t)bytes << 32;
    word[2] = (uint32_t)c->peer | (uint64_t)tag << 32;
    word[3] = MRL_WORD(c->path, (uint16_t)c->comm, MRL_CALL, c->flags);
    if (unlikely(((duration | (uint64_t)c->out | (uint64_t)c->in) >> 31) | t->off_inside | t->off_blocked)) {
        struct mrl_call copy = *c; /* or taking its address would keep c out of registers */
        return mrl_write_more(t, &copy, at);
    }
    return at + 1;
}

/* The same of a call that sends and receives: one record, or, where that has no room for it, one for each half. */
MRL_COLD uint64_t mrl_write_halves(struct mrl_thread *t, enum mrl_op op, const struct mrl_call *c, const struct mrl_received_message *m);
MRL_INLINE uint64_t mrl_write_both(struct mrl_thread *t, enum mrl_op op, const struct mrl_call *c, mrl_word status)
{
    struct mrl_received_message m = mrl_read_status(status);
    int64_t more = m.bytes - c->out;
    uint32_t peers = (uint32_t)c->peer | (uint32_t)m.peer, tags = (uint32_t)c->tag ^ (uint32_t)m.tag;
    if (unlikely(peers >> 15 | (uint32_t)c->tag >> 16 | tags | (uint64_t)(more + 0x8000) >> 16 | (uint64_t)c->out >> 32)) {
        struct mrl_call call = *c; /* see mrl_write */
        struct mrl_received_message message = m;
        return mrl_write_halves(t, op, &call, &message);
    }
    struct mrl_call both = *c;
    both.peer = (int32_t)((uint32_t)c->peer | (uint32_t)m.peer << 16);
    both.tag = (int32_t)((uint32_t)c->tag | (uint32_t)more << 16);
    both.flags |= MRL_BOTH;
    return mrl_write(t, op, &both);
}

/*
 * Notes an operation that has been started, or prepared to be started later (persistent). `bytes` are to
 * be sent, or are the room to receive. Returns the flags for the record of this call.
 */
MRL_INLINE uint8_t mrl_follow(struct mrl_thread *t, const struct mrl_call *c, mrl_word request, uint8_t kind,
                              uint8_t flags, int64_t bytes)
{
    mrl_word handle = mrl_handle_at(request, 0);
    uint8_t started = 0;
    uint32_t number = 0;
    if (flags & MRL_REQ_ACTIVE) {
        number = t->started++;
        started = MRL_STARTED;
    }
    if (mrl_request_done(handle))
        return started | MRL_COMPLETE;
    struct mrl_request *r = mrl_request_new(handle);
    if (likely(r)) {
        r->bytes = (uint64_t)bytes;
        r->number = number;
        r->path = c->path;
        r->peer = c->peer;
        r->tag = kind == MRL_REQ_COLLECTIVE ? (int32_t)c->in : c->tag;
        r->thread = t->index;
        r->comm = (uint16_t)c->comm;
        r->kind = kind;
        r->flags = flags;
        r->op = flags & MRL_REQ_PERSISTENT ? mrl_node_at(c->path)->op : MRL_OP_NONE;
        mrl_request_ready(r, handle);
        if (started)
            mrl_take_off(t, c->end, t->mpi_sum + (c->end - c->start));
    }
    return started;
}

/*
 * Records that follow a call's own, from position `at`; they return the position behind. A persistent
 * operation begins again; the operation in a slot is complete, with this status (0: it is not known).
 */
uint64_t mrl_started(struct mrl_thread *t, mrl_word request, const struct mrl_call *c, uint64_t at);
uint64_t mrl_complete(struct mrl_thread *t, struct mrl_request *item, mrl_word status, uint64_t at);
void mrl_abandon(struct mrl_thread *t, struct mrl_request *item);
uint64_t mrl_complete_all(struct mrl_thread *t, struct mrl_scratch *held, int64_t count, mrl_word statuses, uint64_t at);
uint64_t mrl_complete_some(struct mrl_thread *t, struct mrl_scratch *held, int64_t count, const int *which, int64_t some, int base, mrl_word statuses, uint64_t at);
MRL_INLINE struct mrl_scratch *mrl_hold_all(int64_t count, mrl_word requests)
{
    struct mrl_scratch *s = &mrl_scratch;
    if (unlikely(count > s->room) && !mrl_scratch_grow(count))
        return NULL; /* too many to follow */
    if (unlikely(!requests))
        return NULL;
    for (int64_t i = 0; i < count; i++)
        s->held[i] = mrl_request_hold(mrl_handle(mrl_handle_at(requests, i)));
    return s;
}
void mrl_keep_all(struct mrl_scratch *held, int64_t count);

/* Messages between a matched probe and its receive are kept beside the requests. */
#define MRL_MESSAGE(handle) ((handle) ^ UINT64_C(1) << 62)
void mrl_keep_message(mrl_word message, const struct mrl_received_message *m, uint32_t comm);

/* Sums for collectives with a count per process. wide: counts are 8 bytes (the _c bindings). */
int64_t mrl_sum(mrl_word counts, int64_t n, bool wide);
int64_t mrl_sum_types(struct mrl_thread *t, mrl_word counts, mrl_word types, int64_t n, bool wide);
int64_t mrl_sum_fortran_types(struct mrl_thread *t, mrl_word counts, mrl_word types, int64_t n, bool wide);

MRL_INLINE int64_t mrl_count(mrl_word word, bool wide)
{
    int64_t count = wide ? (int64_t)word : (int)word;
    return count > 0 ? count : 0;
}

/* Bytes of so many elements, of a type that means nothing where there are none. */
MRL_INLINE int64_t mrl_times(struct mrl_thread *t, int64_t n, mrl_word type)
{
    return n > 0 ? n * mrl_type_size(t, type) : 0;
}

MRL_INLINE int64_t mrl_bytes(struct mrl_thread *t, mrl_word count, mrl_word type, bool wide)
{
    return mrl_times(t, mrl_count(count, wide), type);
}

MRL_INLINE int64_t mrl_count_at(mrl_word counts, int64_t i, bool wide)
{
    return !counts ? 0 : wide ? ((const int64_t *)counts)[i] : ((const int *)counts)[i];
}

/* What a rooted collective moves here. */
enum mrl_part { MRL_PART_NOTHING, MRL_PART_ROOT = 1, MRL_PART_LEAF = 2, MRL_PART_MEMBER = 4 };
MRL_INLINE unsigned mrl_part(uint32_t comm, int32_t root)
{
    if (root == MRL_ROOT) /* of an intercommunicator: takes no part in its own group's share */
        return MRL_PART_ROOT;
    if (root < 0)
        return MRL_PART_NOTHING;
    return MRL_PART_MEMBER | (root == mrl_comm_me(comm) && !mrl_comm_inter(comm) ? MRL_PART_ROOT : MRL_PART_LEAF);
}

#endif
