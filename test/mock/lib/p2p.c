/* Messages between two ranks. The server knows ranks of the world; those of the
 * communicator are translated here, on the way out and in the status. */
#include <stdlib.h>

#include "internal.h"

/* A message that a probe took; the server holds it. */
struct held {
    uint64_t id;
    struct comm *comm;
};

static void *attached;
static int attached_size;

static int check(struct comm *c, int peer, int tag, MPI_Count count, const struct type *t,
                 bool receives)
{
    bool wild = receives && peer == MPI_ANY_SOURCE;
    if (peer != MPI_PROC_NULL && !wild && (peer < 0 || peer >= c->group->size))
        return MPI_ERR_RANK;
    if (tag < 0 && !(receives && tag == MPI_ANY_TAG))
        return MPI_ERR_TAG;
    if (count < 0)
        return MPI_ERR_COUNT;
    return t && t->committed ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int world_rank(const struct comm *c, int rank)
{
    return rank < 0 ? rank : c->group->ranks[rank];
}

static struct frame send_frame(struct comm *c, struct block b, int dest, int tag, int mode,
                               bool block)
{
    struct frame f = frame_new(OP_SEND, block);
    put_u8(&f, (uint8_t)mode);
    put_i32(&f, world_rank(c, dest));
    put_i32(&f, tag);
    put_u64(&f, c->context);
    put_packed(&f, b);
    return f;
}

static struct frame recv_frame(struct comm *c, int source, int tag, uint64_t message, bool block)
{
    struct frame f = frame_new(OP_RECV, block);
    put_i32(&f, world_rank(c, source));
    put_i32(&f, tag);
    put_u64(&f, c->context);
    put_u64(&f, message);
    return f;
}

static int send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm, enum mode mode, MPI_Request *request)
{
    COMM(c, comm);
    struct type *t = type_get(datatype);
    int error = check(c, dest, tag, count, t, false);
    REQUIRE(!error, c, error);
    uint64_t id = 0;
    if (dest != MPI_PROC_NULL) {
        struct frame f = send_frame(c, block_of(buf, count, t), dest, tag, mode, !request);
        struct reply reply = call(&f);
        id = reply.request;
        reply_free(&reply);
    }
    if (request && id == 0) {
        *request = request_completed();
    } else if (request) {
        struct request *r = request_new(REQUEST_SEND, c, 0);
        r->id = id;
        r->active = true;
        *request = r->handle = handle_new(KIND_REQUEST, r);
    }
    return MPI_SUCCESS;
}

static int recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Request *request, MPI_Status *status)
{
    COMM(c, comm);
    struct type *t = type_get(datatype);
    int error = check(c, source, tag, count, t, true);
    REQUIRE(!error, c, error);
    if (source == MPI_PROC_NULL && !request) {
        status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        return MPI_SUCCESS;
    }
    struct request *r = request_new(REQUEST_RECV, c, 1);
    request_block(r, 0, block_of(buf, count, t));
    r->peer = source;
    if (source == MPI_PROC_NULL) {
        r->active = true;
        *request = r->handle = handle_new(KIND_REQUEST, r);
        return MPI_SUCCESS;
    }
    struct frame f = recv_frame(c, source, tag, 0, !request);
    return request_issue(r, &f, request, status);
}

#define SENDS(name, iname, mode)                                                               \
    API(name, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,            \
        MPI_Comm comm)                                                                         \
    {                                                                                          \
        ENTER();                                                                               \
        return send(buf, count, datatype, dest, tag, comm, mode, NULL);                        \
    }                                                                                          \
    API(iname, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,           \
        MPI_Comm comm, MPI_Request *request)                                                   \
    {                                                                                          \
        ENTER();                                                                               \
        return send(buf, count, datatype, dest, tag, comm, mode, request);                     \
    }                                                                                          \
    API(name##_init, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,     \
        MPI_Comm comm, MPI_Request *request)                                                   \
    {                                                                                          \
        ENTER();                                                                               \
        return init(REQUEST_SEND, buf, count, datatype, dest, tag, comm, mode, request);       \
    }

static int init(enum request_kind kind, const void *buf, int count, MPI_Datatype datatype,
                int peer, int tag, MPI_Comm comm, enum mode mode, MPI_Request *request)
{
    COMM(c, comm);
    struct type *t = type_get(datatype);
    int error = check(c, peer, tag, count, t, kind == REQUEST_RECV);
    REQUIRE(!error, c, error);
    struct request *r = request_new(kind, c, 1);
    request_block(r, 0, block_of(buf, count, t));
    r->persistent = true;
    r->mode = mode;
    r->peer = peer;
    r->tag = tag;
    *request = r->handle = handle_new(KIND_REQUEST, r);
    return MPI_SUCCESS;
}

int start_persistent(struct request *r)
{
    r->active = true;
    if (r->peer == MPI_PROC_NULL)
        return MPI_SUCCESS;
    struct frame f = r->kind == REQUEST_SEND
                         ? send_frame(r->comm, r->blocks[0], r->peer, r->tag, r->mode, false)
                         : recv_frame(r->comm, r->peer, r->tag, 0, false);
    struct reply reply = call(&f);
    r->id = reply.request;
    reply_free(&reply);
    return MPI_SUCCESS;
}

SENDS(Send, Isend, MODE_STANDARD)
SENDS(Bsend, Ibsend, MODE_EAGER)
SENDS(Ssend, Issend, MODE_SYNCHRONOUS)
SENDS(Rsend, Irsend, MODE_EAGER)

API(Send_c, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
    MPI_Comm comm)
{
    ENTER();
    return send(buf, count, datatype, dest, tag, comm, MODE_STANDARD, NULL);
}

API(Isend_c, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    ENTER();
    return send(buf, count, datatype, dest, tag, comm, MODE_STANDARD, request);
}

API(Recv, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
    MPI_Status *status)
{
    ENTER();
    return recv(buf, count, datatype, source, tag, comm, NULL, status);
}

API(Recv_c, void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
    MPI_Status *status)
{
    ENTER();
    return recv(buf, count, datatype, source, tag, comm, NULL, status);
}

API(Irecv, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    ENTER();
    return recv(buf, count, datatype, source, tag, comm, request, MPI_STATUS_IGNORE);
}

API(Irecv_c, void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    ENTER();
    return recv(buf, count, datatype, source, tag, comm, request, MPI_STATUS_IGNORE);
}

API(Recv_init, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    ENTER();
    return init(REQUEST_RECV, buf, count, datatype, source, tag, comm, MODE_STANDARD, request);
}

static int sendrecv(struct block out, MPI_Datatype sendtype, int dest, int sendtag,
                    struct block in, MPI_Datatype recvtype, int source, int recvtag,
                    MPI_Comm comm, MPI_Status *status)
{
    COMM(c, comm);
    int error = check(c, dest, sendtag, out.count, type_get(sendtype), false);
    REQUIRE(!error, c, error);
    MPI_Request sending, receiving;
    error = recv(in.address, in.count, recvtype, source, recvtag, comm, &receiving,
                     MPI_STATUS_IGNORE);
    if (!error)
        error = send(out.address, out.count, sendtype, dest, sendtag, comm, MODE_STANDARD,
                     &sending);
    if (!error)
        error = request_wait(&sending, MPI_STATUS_IGNORE);
    return error ? error : request_wait(&receiving, status);
}

API(Sendrecv, const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
    MPI_Status *status)
{
    ENTER();
    return sendrecv(block_of(sendbuf, sendcount, NULL), sendtype, dest, sendtag,
                    block_of(recvbuf, recvcount, NULL), recvtype, source, recvtag, comm, status);
}

/* One buffer serves both ways: a message is packed when it is sent and unpacked
 * when its receive completes. */
API(Sendrecv_replace, void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
    int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    ENTER();
    struct block b = block_of(buf, count, NULL);
    return sendrecv(b, datatype, dest, sendtag, b, datatype, source, recvtag, comm, status);
}

/* All probes: message is null unless the message is to be taken, and flag is
 * null if the call blocks. */
static int probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                 MPI_Status *status)
{
    COMM(c, comm);
    int error = check(c, source, tag, 0, type_get(MPI_BYTE), true);
    REQUIRE(!error, c, error);
    if (source == MPI_PROC_NULL) {
        status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        if (message)
            *message = MPI_MESSAGE_NO_PROC;
        if (flag) {
            *flag = 1;
            clock_tick();
        }
        return MPI_SUCCESS;
    }
    struct frame f = frame_new(OP_PROBE, !flag);
    put_i32(&f, world_rank(c, source));
    put_i32(&f, tag);
    put_u64(&f, c->context);
    put_u8(&f, message != NULL);
    struct reply reply = call(&f);
    if (flag)
        *flag = reply.flag;
    if (message)
        *message = MPI_MESSAGE_NULL;
    if (reply.flag) {
        const struct result *r = &reply.results[0];
        int from = group_index(c->group, r->source);
        status_set(status, from, r->tag, r->bytes, false);
        if (message) {
            struct held *m = allocate(sizeof *m);
            m->id = r->base;
            m->comm = c;
            c->refs++;
            *message = handle_new(KIND_MESSAGE, m);
        }
    }
    reply_free(&reply);
    return MPI_SUCCESS;
}

API(Probe, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    ENTER();
    return probe(source, tag, comm, NULL, NULL, status);
}

API(Iprobe, int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    ENTER();
    return probe(source, tag, comm, flag, NULL, status);
}

API(Mprobe, int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    ENTER();
    return probe(source, tag, comm, NULL, message, status);
}

API(Improbe, int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
    MPI_Status *status)
{
    ENTER();
    return probe(source, tag, comm, flag, message, status);
}

static int mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
                 MPI_Request *request, MPI_Status *status)
{
    if (*message == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        return recv(buf, count, datatype, MPI_PROC_NULL, 0, MPI_COMM_SELF, request, status);
    }
    struct held *m = handle_object(KIND_MESSAGE, *message);
    REQUIRE(m, NULL, MPI_ERR_REQUEST);
    struct type *t = type_get(datatype);
    int error = check(m->comm, 0, 0, count, t, true);
    REQUIRE(!error, m->comm, error);
    handle_free(KIND_MESSAGE, *message);
    *message = MPI_MESSAGE_NULL;
    struct request *r = request_new(REQUEST_RECV, m->comm, 1);
    request_block(r, 0, block_of(buf, count, t));
    struct frame f = recv_frame(m->comm, MPI_ANY_SOURCE, MPI_ANY_TAG, m->id, !request);
    comm_release(m->comm);
    free(m);
    return request_issue(r, &f, request, status);
}

API(Mrecv, void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
    ENTER();
    return mrecv(buf, count, datatype, message, NULL, status);
}

API(Imrecv, void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
    MPI_Request *request)
{
    ENTER();
    return mrecv(buf, count, datatype, message, request, MPI_STATUS_IGNORE);
}

/* Buffered sends need no buffer here; it is only remembered for detaching. */
API(Buffer_attach, void *buffer, int size)
{
    ENTER();
    REQUIRE(!attached, NULL, MPI_ERR_BUFFER);
    attached = buffer;
    attached_size = size;
    return MPI_SUCCESS;
}

API(Buffer_detach, void *buffer_addr, int *size)
{
    ENTER();
    *(void **)buffer_addr = attached;
    *size = attached_size;
    attached = NULL;
    attached_size = 0;
    return MPI_SUCCESS;
}
