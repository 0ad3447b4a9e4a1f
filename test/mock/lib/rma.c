/* One-sided communication between fences.
 *
 * Operations are only noted, for each target, until the fence that closes the
 * epoch sends them all; the target then applies them in order of the origin's
 * rank and issue, and a second exchange, which costs nothing, returns what was
 * got. So memory of a window changes only inside of a fence. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum access { PUT, GET, ACCUMULATE };

/* A Get waits for its data in the order of issue. */
struct getting {
    struct block to;
    struct getting *next;
};

struct target {
    struct frame notes;
    struct getting *first, **last;
};

struct win {
    struct comm *comm;
    void *base;
    MPI_Aint size;
    int unit;
    bool allocated;
    uint64_t put_bytes;
    struct target *targets;
};

/* What precedes the layout of the target, and the data if any, in a note. */
struct note {
    enum access access;
    MPI_Aint displacement;
    MPI_Count count;
    MPI_Op op;
    ptrdiff_t extent;
    size_t size, nruns;
};

#define WIN(name, handle_)                                 \
    struct win *name = handle_object(KIND_WIN, handle_);   \
    REQUIRE(name, NULL, MPI_ERR_WIN)

static void clear_targets(struct win *w)
{
    for (int i = 0; i < w->comm->group->size; i++) {
        struct target *t = &w->targets[i];
        frame_drop(&t->notes);
        while (t->first) {
            struct getting *g = t->first;
            t->first = g->next;
            type_release(g->to.type);
            free(g);
        }
        *t = (struct target){.last = &t->first};
    }
    w->put_bytes = 0;
}

static int win_new(void *base, MPI_Aint size, int disp_unit, bool allocated, MPI_Comm comm,
                   MPI_Win *win)
{
    COMM(c, comm);
    REQUIRE(size >= 0, c, MPI_ERR_SIZE);
    REQUIRE(disp_unit > 0, c, MPI_ERR_DISP);
    struct win *w = allocate(sizeof *w);
    w->comm = comm_duplicate(c);
    w->base = allocated ? allocate((size_t)size) : base;
    w->size = size;
    w->unit = disp_unit;
    w->allocated = allocated;
    w->targets = allocate((size_t)c->group->size * sizeof *w->targets);
    clear_targets(w);
    *win = handle_new(KIND_WIN, w);
    return MPI_SUCCESS;
}

API(Win_create, void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
    MPI_Win *win)
{
    (void)info;
    ENTER();
    return win_new(base, size, disp_unit, false, comm, win);
}

API(Win_allocate, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
    MPI_Win *win)
{
    (void)info;
    ENTER();
    int error = win_new(NULL, size, disp_unit, true, comm, win);
    if (!error)
        *(void **)baseptr = ((struct win *)handle_object(KIND_WIN, *win))->base;
    return error;
}

API(Win_free, MPI_Win *win)
{
    ENTER();
    WIN(w, *win);
    exchange(w->comm, NULL, NULL, 0);
    clear_targets(w);
    free(w->targets);
    if (w->allocated)
        free(w->base);
    comm_release(w->comm);
    free(w);
    handle_free(KIND_WIN, *win);
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

/* Notes an operation; op is null unless it accumulates. */
static int note(enum access access, const void *address, int count, MPI_Datatype datatype,
                int rank, MPI_Aint displacement, int target_count, MPI_Datatype target_datatype,
                MPI_Op op, MPI_Win win)
{
    WIN(w, win);
    struct type *mine = type_get(datatype), *its = type_get(target_datatype);
    bool types = mine && mine->committed && its && its->committed;
    REQUIRE(types, w->comm, MPI_ERR_TYPE);
    REQUIRE(count >= 0 && target_count >= 0, w->comm, MPI_ERR_COUNT);
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    REQUIRE(rank >= 0 && rank < w->comm->group->size, w->comm, MPI_ERR_RANK);
    struct block b = block_of(address, count, mine);
    REQUIRE(packed_size(b) == (size_t)target_count * its->size, w->comm, MPI_ERR_TRUNCATE);
    for (size_t i = 0; i < its->nruns && access == ACCUMULATE; i++)
        REQUIRE(op_get(op) && op_applies(op, its->runs[i].basic), w->comm, MPI_ERR_OP);

    struct target *t = &w->targets[rank];
    struct note n = {
        .access = access,
        .displacement = displacement,
        .count = target_count,
        .op = op,
        .extent = its->extent,
        .size = its->size,
        .nruns = its->nruns,
    };
    put_bytes(&t->notes, &n, sizeof n);
    put_bytes(&t->notes, its->runs, its->nruns * sizeof *its->runs);
    if (access == GET) {
        struct getting *g = allocate(sizeof *g);
        g->to = b;
        type_hold(mine);
        *t->last = g;
        t->last = &g->next;
    } else {
        w->put_bytes += packed_size(b);
        pack(put_space(&t->notes, packed_size(b)), b);
    }
    return MPI_SUCCESS;
}

API(Put, const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    ENTER();
    return note(PUT, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                target_count, target_datatype, NULL, win);
}

API(Get, void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    ENTER();
    return note(GET, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                target_count, target_datatype, NULL, win);
}

API(Accumulate, const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
    int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
    MPI_Op op, MPI_Win win)
{
    ENTER();
    return note(ACCUMULATE, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                target_count, target_datatype, op, win);
}

static void take(const unsigned char **from, void *to, size_t size)
{
    memcpy(to, *from, size);
    *from += size;
}

/* Applies one element's run of packed data, which need not be aligned. */
static void accumulate(MPI_Op op, const struct run *r, void *to, const unsigned char *packed)
{
    void *operand = allocate(r->size);
    memcpy(operand, packed, r->size);
    op_apply(op, r->basic, operand, to, r->size / basic_size[r->basic]);
    free(operand);
}

static void accumulate_block(MPI_Op op, struct block b, const unsigned char *packed)
{
    for (MPI_Count i = 0; i < b.count; i++)
        for (size_t j = 0; j < b.type->nruns; j++) {
            const struct run *r = &b.type->runs[j];
            accumulate(op, r, displace(b.address, i * b.type->extent + r->offset), packed);
            packed += r->size;
        }
}

static bool is_inside(const struct win *w, ptrdiff_t start, struct block b)
{
    ptrdiff_t lb, ub;
    true_bounds(b.type, &lb, &ub);
    ptrdiff_t last = start + (b.count - 1) * b.type->extent;
    return b.count == 0 || (start + lb >= 0 && last + ub <= w->size);
}

/* Carries out the operations of one origin; what it gets is added to answer.
 * Those outside of the window are left out, and the result is false. */
static bool apply(struct win *w, struct chunk notes, struct frame *answer)
{
    const unsigned char *at = notes.data, *end = at + notes.size;
    bool all_inside = true;
    while (at < end) {
        struct note n;
        take(&at, &n, sizeof n);
        struct type t = {.size = n.size, .nruns = n.nruns, .extent = n.extent};
        t.runs = allocate(n.nruns * sizeof *t.runs);
        take(&at, t.runs, n.nruns * sizeof *t.runs);
        ptrdiff_t start = n.displacement * w->unit;
        struct block b = block_of(displace(w->base, start), n.count, &t);
        size_t size = packed_size(b);
        bool inside = is_inside(w, start, b);
        all_inside = all_inside && inside;
        if (n.access == GET) {
            void *to = put_space(answer, size);
            memset(to, 0, size);
            if (inside)
                pack(to, b);
        } else {
            if (inside && n.access == PUT)
                unpack(b, at, size);
            else if (inside)
                accumulate_block(n.op, b, at);
            at += size;
        }
        free(t.runs);
    }
    return all_inside;
}

/* One of the two exchanges of a fence: a chunk for each member. */
static struct reply swap(struct win *w, struct frame *chunks, uint64_t bytes, bool is_free)
{
    int n = w->comm->group->size;
    struct collective all = {
        .comm = w->comm, .shape = ALL_TO_ALL, .bytes = bytes, .is_free = is_free};
    struct frame f = collective_frame(&all, true);
    put_u64(&f, (uint64_t)n);
    for (int i = 0; i < n; i++)
        put_chunk(&f, chunks[i].data, chunks[i].size);
    return call(&f);
}

static void land(struct target *t, struct chunk data)
{
    const unsigned char *at = data.data;
    for (struct getting *g = t->first; g; g = g->next) {
        unpack(g->to, at, packed_size(g->to));
        at += packed_size(g->to);
    }
}

API(Win_fence, int assert, MPI_Win win)
{
    (void)assert;
    ENTER();
    WIN(w, win);
    int n = w->comm->group->size;
    struct frame *frames = allocate((size_t)n * sizeof *frames);
    for (int i = 0; i < n; i++)
        frames[i] = w->targets[i].notes;
    struct reply notes = swap(w, frames, w->put_bytes, false);
    bool inside = true;
    memset(frames, 0, (size_t)n * sizeof *frames);
    for (int i = 0; i < n; i++)
        inside = apply(w, notes.results[0].chunks[i], &frames[i]) && inside;
    reply_free(&notes);
    struct reply answers = swap(w, frames, 0, true);
    for (int i = 0; i < n; i++) {
        land(&w->targets[i], answers.results[0].chunks[i]);
        frame_drop(&frames[i]);
    }
    reply_free(&answers);
    free(frames);
    clear_targets(w);
    REQUIRE(inside, w->comm, MPI_ERR_RMA_RANGE);
    return MPI_SUCCESS;
}
