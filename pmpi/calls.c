#include "calls.h"
#include "fortran.h"

#include <string.h>

static __attribute__((noinline)) uint32_t second_place(struct mrl_thread *t, enum mrl_function_id f, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct mrl_caller caller = {pc, sp, fp};
    const struct mrl_path *path = mrl_path_remembered(t, f, NULL, caller);
    if (likely(path != NULL))
        return path->node;
    const struct mrl_function_fact *fact = &mrl_function_facts[f];
    struct mrl_node leaf = {.kind = MRL_NODE_MPI, .name = mrl_string(fact->name, 64), .op = fact->op, .flags = fact->flags};
    return mrl_path_walk(t, f, NULL, caller, &leaf)->node;
}

/* What runs at each MPI call is this first half alone. Walks through Python's functions have another mark. */
uint32_t mrl_path_of(struct mrl_thread *t, enum mrl_function_id f, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    const struct mrl_path *path = mrl_path_place(t->paths, f, NULL, pc, sp);
    __asm__("" : "+r"(path)); /* one register instead of two indices, of which one would have to be saved */
    return likely(mrl_path_holds(t, path, f, t->paths->mark, pc, sp, fp)) ? path->node : second_place(t, f, pc, sp, fp);
}

_Atomic uint32_t mrl_function_names[MRL_FUNCTIONS];

MRL_COLD uint32_t mrl_function_named(enum mrl_function_id f)
{
    uint32_t name = mrl_string(mrl_function_facts[f].name, 64); /* the same for all threads */
    atomic_store_explicit(&mrl_function_names[f], name, memory_order_relaxed);
    return name;
}

MRL_COLD void mrl_forget(struct mrl_thread *t)
{
    t->epoch = atomic_load_explicit(&mrl.epoch, memory_order_acquire);
    memset(t->types, 0, sizeof t->types);
    memset(t->comms, 0, sizeof t->comms);
}

MRL_COLD int64_t mrl_type_miss(struct mrl_thread *t, mrl_word type)
{
    int narrow = 0;
    int64_t size = type == mrl_abi.type_null || mrl_pmpi.Type_size(type, &narrow) ? 0 : narrow;
    int (*wide)(mrl_word, int64_t *) = mrl_pmpi.Type_size_c ? mrl_pmpi.Type_size_c : mrl_pmpi.Type_size_x;
    if (size < 0 && (!wide || wide(type, &size))) /* MPI_UNDEFINED: larger than an int can say */
        size = 0;
    t->types[(type ^ type >> 6) & (MRL_TYPES - 1)] = (struct mrl_type){.handle = type, .size = size};
    return size;
}

int64_t mrl_status_ask(mrl_word status, bool *cancelled)
{
    int narrow = 0, flag = 0;
    const void *s = (const void *)(uintptr_t)status;
    *cancelled = !mrl_pmpi.Test_cancelled(s, &flag) && flag;
    int64_t count = mrl_pmpi.Get_count(s, mrl_abi.byte, &narrow) ? 0 : narrow;
    if (count < 0 && (!mrl_pmpi.Get_count_c || mrl_pmpi.Get_count_c(s, mrl_abi.byte, &count)))
        count = 0;
    return count > 0 ? count : 0;
}

/* Puts what does not fit the record at `at`, or is rarely there, before it. */
MRL_COLD uint64_t mrl_write_more(struct mrl_thread *t, const struct mrl_call *c, uint64_t at)
{
    struct mrl_record record = mrl_slot(t, at)->record;
    uint64_t duration = c->end - c->start;
    if ((duration | (uint64_t)c->out | (uint64_t)c->in) >> 31)
        mrl_slot(t, at++)->wide = (struct mrl_wide){
            .duration = duration, .out = (uint64_t)c->out, .in = (uint64_t)c->in, .kind = MRL_WIDE};
    if (t->off_inside | t->off_blocked)
        mrl_slot(t, at++)->inside =
            (struct mrl_inside){.runnable = t->off_inside, .blocked = t->off_blocked, .kind = MRL_INSIDE};
    t->off_inside = t->off_blocked = 0;
    mrl_slot(t, at)->record = record;
    return at + 1;
}

MRL_COLD uint64_t mrl_write_halves(struct mrl_thread *t, enum mrl_op op, const struct mrl_call *c, const struct mrl_received_message *m)
{
    uint64_t at = mrl_write(t, op, c);
    if (m->peer == MRL_PROC_NULL)
        return at;
    mrl_slot(t, at)->received = (struct mrl_received){
        .bytes = (uint64_t)m->bytes, .peer = m->peer, .tag = m->tag, .path = c->path, .comm = (uint16_t)c->comm, .kind = MRL_RECEIVED};
    return at + 1;
}

MRL_COLD bool mrl_cut_off(int rc)
{
    int class = rc;
    return (!mrl_pmpi.Error_class || !mrl_pmpi.Error_class(rc, &class)) && class == mrl_abi.err_truncate;
}

/* A call that returned an error: nothing it was given can be trusted, so only its time is recorded. */
MRL_COLD int mrl_failed(struct mrl_thread *t, enum mrl_function_id f, struct mrl_caller caller, uint64_t start, uint64_t end, int rc)
{
    struct mrl_call c = {.start = start, .end = end, .peer = MRL_NO_PEER, .flags = MRL_FAILED, .path = mrl_path(t, f, caller)};
    mrl_commit(t, mrl_write(t, mrl_function_facts[f].op, &c));
    return rc;
}

/*
 * A call that was left is known by its name and by when it was entered, and has failed; the stack that it was made from is gone.
 * One of those that do not say that they are entered is only counted among the calls left.
 */
void mrl_call_over(struct mrl_thread *t)
{
    enum mrl_function_id f = 0;
    while (f < MRL_FUNCTIONS && (!t->calling || atomic_load_explicit(&mrl_function_names[f], memory_order_relaxed) != t->calling))
        f++;
    if (f == MRL_FUNCTIONS || !t->called) {
        t->inside = 0;
        return;
    }
    const struct mrl_function_fact *fact = &mrl_function_facts[f];
    struct mrl_node leaf = {.parent = MRL_ROOT_NODE, .kind = MRL_NODE_MPI, .name = t->calling, .op = fact->op, .flags = fact->flags};
    struct mrl_call c = {.start = t->called, .end = t->last_end, .peer = MRL_NO_PEER, .flags = MRL_FAILED, .path = mrl_node(&leaf)};
    mrl_commit(t, mrl_write(t, fact->op, &c));
}

/* One call may complete more operations than fit one commit; the rest are commits of their own. */
void mrl_make_room(struct mrl_thread *t, uint64_t at)
{
    if (likely(at - mrl_head(t) < MRL_RESERVE - MRL_PLACES - 8))
        return;
    atomic_store_explicit(&t->head, at, memory_order_release);
    if (at >= t->flush_at)
        mrl_flush(t);
}

/* Of these, all bytes were counted where they were started, if any. */
static bool brings_nothing(uint8_t kind)
{
    return kind == MRL_REQ_SEND || kind == MRL_REQ_RMA || kind == MRL_REQ_COMM || kind == MRL_REQ_OTHER;
}

MRL_INLINE uint64_t write_operation(struct mrl_thread *t, const struct mrl_request *item, enum mrl_kind kind,
                                const struct mrl_received_message *m, uint64_t at)
{
    bool nothing = brings_nothing(item->kind) || (kind == MRL_COMPLETED && m->peer == MRL_PROC_NULL);
    mrl_make_room(t, at);
    mrl_slot(t, at)->completed = (struct mrl_completed){
        .bytes = (uint64_t)m->bytes, .number = item->number, .path = item->path, .peer = m->peer, .tag = m->tag,
        .thread = (uint16_t)item->thread, .op = kind == MRL_POSTED ? item->op : MRL_OP_NONE, .kind = (uint8_t)kind, .comm = item->comm,
        .flags = (uint8_t)((nothing ? MRL_IS_SEND : 0) |
                           (item->kind == MRL_REQ_COLLECTIVE ? MRL_COLLECTIVE : 0) | (m->cancelled ? MRL_CANCELLED : 0)),
    };
    return at + 1;
}

/*
 * What the status says of a completed operation. It is believed only as far as it can be true: the mpi_f08
 * bindings of MPICH 4.0 return from MPI_Waitany without filling it in.
 */
MRL_INLINE void read_completion(const struct mrl_request *item, mrl_word status, struct mrl_received_message *m)
{
    if (!status || (item->kind != MRL_REQ_RECV && item->kind != MRL_REQ_FILE && !(item->flags & MRL_REQ_CANCELLING)))
        return;
    if (item->kind == MRL_REQ_RECV && item->peer == MRL_PROC_NULL)
        return; /* comes from nobody, with any tag */
    struct mrl_received_message read = mrl_read_status(status);
    m->cancelled = item->flags & MRL_REQ_CANCELLING && read.cancelled;
    if (m->cancelled || item->kind == MRL_REQ_SEND)
        return;
    if (item->kind == MRL_REQ_RECV) {
        bool same = item->peer == MRL_ANY ? read.peer >= 0 && read.peer < mrl_comm_n(item->comm) : read.peer == item->peer;
        if (!same || (item->tag != MRL_ANY && read.tag != item->tag) || read.bytes < 0 || (uint64_t)read.bytes > item->bytes) {
            atomic_fetch_add_explicit(&mrl.header->statuses_lost, 1, memory_order_relaxed);
            return;
        }
        m->peer = read.peer;
        m->tag = read.tag;
    }
    m->bytes = read.bytes;
}

/* The thread that started it counts it as in flight. */
MRL_INLINE void landed(struct mrl_thread *t, const struct mrl_request *item)
{
    if (likely(item->thread == t->index)) {
        mrl_land_others(t, mrl_ended(t));
        mrl_land(t, 1, mrl_ended(t));
    } else {
        mrl_landed_elsewhere(item);
    }
}

/* Nobody will ask for its completion. */
void mrl_abandon(struct mrl_thread *t, struct mrl_request *item)
{
    if (item && item->flags & MRL_REQ_ACTIVE)
        landed(t, item);
    mrl_request_drop(item);
}

uint64_t mrl_complete(struct mrl_thread *t, struct mrl_request *item, mrl_word status, uint64_t at)
{
    if (!item)
        return at;
    if (item->flags & MRL_REQ_ACTIVE) {
        landed(t, item);
        struct mrl_received_message m = {.peer = item->peer, .tag = item->tag};
        read_completion(item, status, &m);
        if (item->kind == MRL_REQ_COMM)
            mrl_comm_arrived(item->comm, (uint32_t)item->tag,
                             item->flags & MRL_REQ_FORTRAN ? mrl_fortran_Comm(item->bytes) : mrl_handle_at(item->bytes, 0));
        at = write_operation(t, item, MRL_COMPLETED, &m, at);
    }
    if (item->flags & MRL_REQ_PERSISTENT) {
        item->flags &= (uint8_t)~MRL_REQ_ACTIVE;
        mrl_request_keep(item);
    } else {
        mrl_request_drop(item);
    }
    return at;
}

uint64_t mrl_complete_all(struct mrl_thread *t, struct mrl_scratch *held, int64_t count, mrl_word statuses, uint64_t at)
{
    for (int64_t i = 0; held && i < count; i++)
        at = mrl_complete(t, held->held[i], mrl_status_of(statuses, i), at);
    return at;
}

/* Of those held, `which` are complete, counted from `base`; the i-th status belongs to which[i]. */
uint64_t mrl_complete_some(struct mrl_thread *t, struct mrl_scratch *held, int64_t count, const int *which,
                           int64_t some, int base, mrl_word statuses, uint64_t at)
{
    for (int64_t i = 0; held && i < some; i++) {
        int64_t done = (int64_t)which[i] - base;
        if (done < 0 || done >= count)
            continue;
        at = mrl_complete(t, held->held[done], mrl_status_of(statuses, i), at);
        held->held[done] = NULL;
    }
    mrl_keep_all(held, count);
    return at;
}

uint64_t mrl_started(struct mrl_thread *t, mrl_word request, const struct mrl_call *c, uint64_t at)
{
    struct mrl_request *item = mrl_request_hold(mrl_handle(request));
    if (!item)
        return at;
    item->number = t->started++;
    item->thread = t->index;
    item->path = c->path;
    item->flags |= MRL_REQ_ACTIVE;
    struct mrl_received_message m = {.peer = item->peer, .tag = item->tag, .bytes = (int64_t)item->bytes};
    at = write_operation(t, item, MRL_POSTED, &m, at);
    mrl_take_off(t, c->end, t->mpi_sum);
    mrl_request_keep(item);
    return at;
}

void mrl_keep_message(mrl_word message, const struct mrl_received_message *m, uint32_t comm)
{
    mrl_word handle = MRL_MESSAGE(message);
    struct mrl_request *r = mrl_request_new(handle);
    if (!r)
        return;
    r->peer = m->peer;
    r->tag = m->tag;
    r->comm = (uint16_t)comm;
    r->flags = 0;
    mrl_request_ready(r, handle);
}

void mrl_keep_all(struct mrl_scratch *s, int64_t count)
{
    for (int64_t i = 0; s && mrl.concurrent && i < count; i++)
        mrl_request_keep(s->held[i]);
}

int64_t mrl_sum(mrl_word counts, int64_t n, bool wide)
{
    int64_t sum = 0;
    for (int64_t i = 0; counts && i < n; i++)
        sum += mrl_count_at(counts, i, wide);
    return sum;
}

int64_t mrl_sum_types(struct mrl_thread *t, mrl_word counts, mrl_word types, int64_t n, bool wide)
{
    int64_t sum = 0;
    for (int64_t i = 0; counts && types && i < n; i++) {
        int64_t count = mrl_count_at(counts, i, wide);
        if (count > 0)
            sum += count * mrl_type_size(t, mrl_handle_at(types, i));
    }
    return sum;
}
