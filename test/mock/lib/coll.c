/* Collective operations.
 *
 * Each is one message to the server, of the chunks that this member contributes,
 * and one result, of the chunks it receives: blocks to unpack, or operands to
 * fold into one block. The blocking and the non-blocking function of a pair
 * differ only in the request, which is null for the first. Where a buffer is
 * MPI_IN_PLACE the contribution is read from where the result will go. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The caller adds the count of chunks and the chunks. */
struct frame collective_frame(const struct collective *c, bool block)
{
    const struct group *g = c->group ? c->group : c->comm->group;
    struct frame f = frame_new(OP_COLLECTIVE, block);
    put_u64(&f, c->comm->context);
    put_u64(&f, (uint64_t)c->tag);
    put_u64(&f, (uint64_t)g->size);
    for (int i = 0; i < g->size; i++)
        put_i32(&f, g->ranks[i]);
    put_u8(&f, (uint8_t)c->shape);
    put_i32(&f, c->root);
    put_u64(&f, c->bytes);
    put_u8(&f, c->is_free);
    return f;
}

/* Gives size bytes of every member to every member, without charge for them,
 * and returns the range of fresh numbers. */
uint64_t exchange(struct comm *comm, const void *mine, void *all, size_t size)
{
    struct collective c = {.comm = comm, .shape = ALL_TO_ALL};
    struct frame f = collective_frame(&c, true);
    put_u64(&f, 1);
    put_chunk(&f, mine, size);
    struct reply reply = call(&f);
    const struct result *r = &reply.results[0];
    uint64_t base = r->base;
    for (size_t i = 0; i < r->nchunks && size; i++)
        memcpy(displace(all, (ptrdiff_t)(i * size)), r->chunks[i].data, size);
    reply_free(&reply);
    return base;
}

#define ROOT(c, root) REQUIRE((root) >= 0 && (root) < (c)->group->size, c, MPI_ERR_ROOT)
#define TYPE(c, name, handle)                  \
    struct type *name = type_get(handle);      \
    REQUIRE(name && name->committed, c, MPI_ERR_TYPE)
#define COUNT(c, count) REQUIRE((count) >= 0, c, MPI_ERR_COUNT)

static int issue(struct request *r, struct frame *f, MPI_Request *request)
{
    return request_issue(r, f, request, MPI_STATUS_IGNORE);
}

static int barrier(MPI_Comm comm, MPI_Request *request)
{
    COMM(c, comm);
    struct collective all = {.comm = c, .shape = ALL_TO_ALL};
    struct frame f = collective_frame(&all, !request);
    put_u64(&f, 0);
    return issue(request_new(REQUEST_COLLECTIVE, c, 0), &f, request);
}

API(Barrier, MPI_Comm comm)
{
    ENTER();
    return barrier(comm, NULL);
}

API(Ibarrier, MPI_Comm comm, MPI_Request *request)
{
    ENTER();
    return barrier(comm, request);
}

static int bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                 MPI_Request *request)
{
    COMM(c, comm);
    ROOT(c, root);
    TYPE(c, t, datatype);
    COUNT(c, count);
    struct block b = block_of(buffer, count, t);
    struct collective all = {.comm = c, .shape = FROM_ROOT, .root = root};
    struct frame f = collective_frame(&all, !request);
    bool sends = c->rank == root;
    struct request *r = request_new(REQUEST_COLLECTIVE, c, !sends);
    put_u64(&f, sends);
    if (sends)
        put_packed(&f, b);
    else
        request_block(r, 0, b);
    return issue(r, &f, request);
}

API(Bcast, void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    ENTER();
    return bcast(buffer, count, datatype, root, comm, NULL);
}

API(Bcast_c, void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    ENTER();
    return bcast(buffer, count, datatype, root, comm, NULL);
}

API(Ibcast, void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
    MPI_Request *request)
{
    ENTER();
    return bcast(buffer, count, datatype, root, comm, request);
}

/* One block for each member in one buffer: of counts at displs, or of count each
 * one after the other. */
struct layout {
    const void *buffer;
    const int *counts, *displs;
    int count;
    struct type *type;
};

static struct block nth(struct layout l, int i)
{
    ptrdiff_t at = l.displs ? l.displs[i] : (ptrdiff_t)i * l.count;
    void *address = displace(l.buffer, at * l.type->extent);
    return block_of(address, l.counts ? l.counts[i] : l.count, l.type);
}

static bool counts_are_valid(struct layout l, int n)
{
    for (int i = 0; i < n && l.counts; i++)
        if (l.counts[i] < 0)
            return false;
    return l.counts || l.count >= 0;
}

enum { EVERYONE = -1 };

/* All gathers; root is EVERYONE if all members receive. */
static int gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, struct layout to,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    COMM(c, comm);
    int n = c->group->size;
    if (root != EVERYONE)
        ROOT(c, root);
    bool receives = root == EVERYONE || root == c->rank;
    bool in_place = sendbuf == MPI_IN_PLACE;
    REQUIRE(receives || !in_place, c, MPI_ERR_BUFFER);
    if (receives) {
        to.type = type_get(recvtype);
        REQUIRE(to.type && to.type->committed, c, MPI_ERR_TYPE);
        REQUIRE(counts_are_valid(to, n), c, MPI_ERR_COUNT);
    }
    struct block mine;
    if (in_place) {
        mine = nth(to, c->rank);
    } else {
        TYPE(c, t, sendtype);
        COUNT(c, sendcount);
        mine = block_of(sendbuf, sendcount, t);
    }
    struct collective all = {
        .comm = c,
        .shape = root == EVERYONE ? ALL_TO_ALL : TO_ROOT,
        .root = root == EVERYONE ? 0 : root,
        .bytes = packed_size(mine),
    };
    struct frame f = collective_frame(&all, !request);
    put_u64(&f, 1);
    put_packed(&f, mine);
    struct request *r = request_new(REQUEST_COLLECTIVE, c, receives ? (size_t)n : 0);
    for (int i = 0; i < n && receives; i++)
        request_block(r, (size_t)i, nth(to, i));
    return issue(r, &f, request);
}

static struct layout uniform(const void *buffer, int count)
{
    return (struct layout){.buffer = buffer, .count = count};
}

static struct layout varied(const void *buffer, const int *counts, const int *displs)
{
    return (struct layout){.buffer = buffer, .counts = counts, .displs = displs};
}

/* Defines a collective and its non-blocking twin. The parameters come in
 * brackets, without the request; the body uses `request`. */
#define UNWRAP(...) __VA_ARGS__
#define COLLECTIVE(name, iname, parameters, call_)                     \
    API(name, UNWRAP parameters)                                       \
    {                                                                  \
        ENTER();                                                       \
        MPI_Request *request = NULL;                                   \
        return call_;                                                  \
    }                                                                  \
    API(iname, UNWRAP parameters, MPI_Request *request)                \
    {                                                                  \
        ENTER();                                                       \
        return call_;                                                  \
    }

COLLECTIVE(Gather, Igather,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
            int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
           gather(sendbuf, sendcount, sendtype, uniform(recvbuf, recvcount), recvtype, root, comm,
                  request))
COLLECTIVE(Gatherv, Igatherv,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
            const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
            MPI_Comm comm),
           gather(sendbuf, sendcount, sendtype, varied(recvbuf, recvcounts, displs), recvtype,
                  root, comm, request))
COLLECTIVE(Allgather, Iallgather,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
            int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
           gather(sendbuf, sendcount, sendtype, uniform(recvbuf, recvcount), recvtype, EVERYONE,
                  comm, request))
COLLECTIVE(Allgatherv, Iallgatherv,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
            const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
           gather(sendbuf, sendcount, sendtype, varied(recvbuf, recvcounts, displs), recvtype,
                  EVERYONE, comm, request))

static int scatter(struct layout from, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    COMM(c, comm);
    ROOT(c, root);
    int n = c->group->size;
    bool sends = c->rank == root, in_place = recvbuf == MPI_IN_PLACE;
    REQUIRE(sends || !in_place, c, MPI_ERR_BUFFER);
    if (sends) {
        from.type = type_get(sendtype);
        REQUIRE(from.type && from.type->committed, c, MPI_ERR_TYPE);
        REQUIRE(counts_are_valid(from, n), c, MPI_ERR_COUNT);
    }
    struct block mine = {0};
    if (!in_place) {
        TYPE(c, t, recvtype);
        COUNT(c, recvcount);
        mine = block_of(recvbuf, recvcount, t);
    }
    struct collective all = {.comm = c, .shape = FROM_ROOT, .root = root};
    struct frame f = collective_frame(&all, !request);
    put_u64(&f, sends ? (uint64_t)n : 0);
    for (int i = 0; i < n && sends; i++)
        put_packed(&f, nth(from, i));
    struct request *r = request_new(REQUEST_COLLECTIVE, c, !in_place);
    if (!in_place)
        request_block(r, 0, mine);
    return issue(r, &f, request);
}

COLLECTIVE(Scatter, Iscatter,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
            int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
           scatter(uniform(sendbuf, sendcount), sendtype, recvbuf, recvcount, recvtype, root, comm,
                   request))
COLLECTIVE(Scatterv, Iscatterv,
           (const void *sendbuf, const int sendcounts[], const int displs[],
            MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
            MPI_Comm comm),
           scatter(varied(sendbuf, sendcounts, displs), sendtype, recvbuf, recvcount, recvtype,
                   root, comm, request))

/* All alltoalls, given both lists of blocks. */
static int all_to_all(struct comm *c, const struct block *out, const struct block *in,
                      MPI_Request *request)
{
    int n = c->group->size;
    struct collective all = {.comm = c, .shape = ALL_TO_ALL};
    for (int i = 0; i < n; i++)
        all.bytes += packed_size(out[i]);
    struct frame f = collective_frame(&all, !request);
    struct request *r = request_new(REQUEST_COLLECTIVE, c, (size_t)n);
    put_u64(&f, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        put_packed(&f, out[i]);
        request_block(r, (size_t)i, in[i]);
    }
    return issue(r, &f, request);
}

static int alltoall(struct layout from, MPI_Datatype sendtype, struct layout to,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    COMM(c, comm);
    int n = c->group->size;
    to.type = type_get(recvtype);
    REQUIRE(to.type && to.type->committed, c, MPI_ERR_TYPE);
    if (from.buffer == MPI_IN_PLACE) {
        from = to;
    } else {
        from.type = type_get(sendtype);
        REQUIRE(from.type && from.type->committed, c, MPI_ERR_TYPE);
    }
    REQUIRE(counts_are_valid(from, n) && counts_are_valid(to, n), c, MPI_ERR_COUNT);
    struct block *blocks = allocate(2 * (size_t)n * sizeof *blocks);
    for (int i = 0; i < n; i++) {
        blocks[i] = nth(from, i);
        blocks[n + i] = nth(to, i);
    }
    int error = all_to_all(c, blocks, blocks + n, request);
    free(blocks);
    return error;
}

COLLECTIVE(Alltoall, Ialltoall,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
            int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
           alltoall(uniform(sendbuf, sendcount), sendtype, uniform(recvbuf, recvcount), recvtype,
                    comm, request))
COLLECTIVE(Alltoallv, Ialltoallv,
           (const void *sendbuf, const int sendcounts[], const int sdispls[],
            MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[],
            MPI_Datatype recvtype, MPI_Comm comm),
           alltoall(varied(sendbuf, sendcounts, sdispls), sendtype,
                    varied(recvbuf, recvcounts, rdispls), recvtype, comm, request))

/* Returns an error class. Displacements of alltoallw are in bytes. */
static int typed_blocks(struct block *blocks, int n, const void *buffer, const int *counts,
                        const int *displs, const MPI_Datatype *types)
{
    for (int i = 0; i < n; i++) {
        struct type *t = type_get(types[i]);
        if (!t || !t->committed)
            return MPI_ERR_TYPE;
        if (counts[i] < 0)
            return MPI_ERR_COUNT;
        blocks[i] = block_of(displace(buffer, displs[i]), counts[i], t);
    }
    return MPI_SUCCESS;
}

static int alltoallw(const void *sendbuf, const int *sendcounts, const int *sdispls,
                     const MPI_Datatype *sendtypes, void *recvbuf, const int *recvcounts,
                     const int *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm,
                     MPI_Request *request)
{
    COMM(c, comm);
    int n = c->group->size;
    struct block *blocks = allocate(2 * (size_t)n * sizeof *blocks);
    int error = typed_blocks(blocks + n, n, recvbuf, recvcounts, rdispls, recvtypes);
    if (sendbuf == MPI_IN_PLACE)
        memcpy(blocks, blocks + n, (size_t)n * sizeof *blocks);
    else if (!error)
        error = typed_blocks(blocks, n, sendbuf, sendcounts, sdispls, sendtypes);
    error = error ? fail(c, error) : all_to_all(c, blocks, blocks + n, request);
    free(blocks);
    return error;
}

COLLECTIVE(Alltoallw, Ialltoallw,
           (const void *sendbuf, const int sendcounts[], const int sdispls[],
            const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
            const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
           alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                     recvtypes, comm, request))

/* The reductions in which every member contributes all of its operand. */
static int reduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, enum shape shape, int root, MPI_Comm comm, MPI_Request *request)
{
    COMM(c, comm);
    ROOT(c, root);
    TYPE(c, t, datatype);
    COUNT(c, count);
    struct op *o = op_get(op);
    REQUIRE(o && op_fits(o, t), c, MPI_ERR_OP);
    bool receives = shape != TO_ROOT || c->rank == root;
    bool in_place = sendbuf == MPI_IN_PLACE;
    REQUIRE(receives || !in_place, c, MPI_ERR_BUFFER);
    struct block mine = block_of(in_place ? recvbuf : sendbuf, count, t);
    struct collective all = {
        .comm = c, .shape = shape, .root = root, .bytes = packed_size(mine)};
    struct frame f = collective_frame(&all, !request);
    put_u64(&f, 1);
    put_packed(&f, mine);
    struct request *r = request_new(REQUEST_COLLECTIVE, c, receives);
    if (receives) {
        request_block(r, 0, block_of(recvbuf, count, t));
        r->op = op_hold(o);
    }
    return issue(r, &f, request);
}

COLLECTIVE(Reduce, Ireduce,
           (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
            int root, MPI_Comm comm),
           reduce(sendbuf, recvbuf, count, datatype, op, TO_ROOT, root, comm, request))
COLLECTIVE(Allreduce, Iallreduce,
           (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
            MPI_Comm comm),
           reduce(sendbuf, recvbuf, count, datatype, op, ALL_TO_ALL, 0, comm, request))
COLLECTIVE(Scan, Iscan,
           (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
            MPI_Comm comm),
           reduce(sendbuf, recvbuf, count, datatype, op, PREFIX, 0, comm, request))
COLLECTIVE(Exscan, Iexscan,
           (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
            MPI_Comm comm),
           reduce(sendbuf, recvbuf, count, datatype, op, PREFIX_EXCLUSIVE, 0, comm, request))

API(Allreduce_c, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
    MPI_Op op, MPI_Comm comm)
{
    ENTER();
    return reduce(sendbuf, recvbuf, count, datatype, op, ALL_TO_ALL, 0, comm, NULL);
}

/* Both reduce-scatters: counts for each member, or null and one count for all. */
static int reduce_scatter(const void *sendbuf, void *recvbuf, const int *counts, int count,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    COMM(c, comm);
    int n = c->group->size;
    struct layout from = {.counts = counts, .count = count};
    REQUIRE(counts_are_valid(from, n), c, MPI_ERR_COUNT);
    TYPE(c, t, datatype);
    struct op *o = op_get(op);
    REQUIRE(o && op_fits(o, t), c, MPI_ERR_OP);
    from.type = t;
    from.buffer = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    int *displs = allocate((size_t)n * sizeof *displs);
    for (int i = 1; i < n; i++)
        displs[i] = displs[i - 1] + (counts ? counts[i - 1] : count);
    from.displs = displs;
    struct collective all = {.comm = c, .shape = ALL_TO_ALL};
    for (int i = 0; i < n; i++)
        all.bytes += packed_size(nth(from, i));
    struct frame f = collective_frame(&all, !request);
    put_u64(&f, (uint64_t)n);
    for (int i = 0; i < n; i++)
        put_packed(&f, nth(from, i));
    struct request *r = request_new(REQUEST_COLLECTIVE, c, 1);
    request_block(r, 0, block_of(recvbuf, counts ? counts[c->rank] : count, t));
    r->op = op_hold(o);
    free(displs);
    return issue(r, &f, request);
}

COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype,
            MPI_Op op, MPI_Comm comm),
           reduce_scatter(sendbuf, recvbuf, recvcounts, 0, datatype, op, comm, request))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
            MPI_Comm comm),
           reduce_scatter(sendbuf, recvbuf, NULL, recvcount, datatype, op, comm, request))
