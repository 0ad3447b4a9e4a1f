/* Requests: operations from posting to completion.
 *
 * What an operation brings stays with the server until the request is waited
 * for, tested or freed, and then goes to the blocks of the request. A request
 * whose id is 0 needs no server to complete. Sends that complete at once have no
 * request of their own: they all return the one handle of `completed`. */
#include <pthread.h>
#include <stdlib.h>

#include "internal.h"

enum need { ANY, SOME, ALL };

static struct request completed = {.kind = REQUEST_SEND, .active = true};
static pthread_mutex_t freed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct request *freed;

void requests_start(void)
{
    completed.handle = handle_new(KIND_REQUEST, &completed);
}

MPI_Request request_completed(void)
{
    return completed.handle;
}

struct request *request_new(enum request_kind kind, struct comm *comm, size_t nblocks)
{
    struct request *r = allocate(sizeof *r);
    r->kind = kind;
    r->comm = comm;
    comm->refs++;
    r->nblocks = nblocks;
    r->blocks = allocate(nblocks * sizeof *r->blocks);
    return r;
}

void request_block(struct request *r, size_t i, struct block b)
{
    r->blocks[i] = b;
    type_hold(b.type);
}

static void release(struct request *r)
{
    if (r == &completed)
        return;
    for (size_t i = 0; i < r->nblocks; i++)
        type_release(r->blocks[i].type);
    if (r->op)
        op_release(r->op);
    if (r->duplicate)
        comm_release(r->duplicate);
    comm_release(r->comm);
    free(r->blocks);
    free(r);
}

void status_set(MPI_Status *status, int source, int tag, uint64_t bytes, bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->MPI_internal[0] = (int)(bytes & 0xffffffff);
    status->MPI_internal[1] = (int)(bytes >> 32);
    status->MPI_internal[2] = cancelled;
}

uint64_t status_bytes(const MPI_Status *status)
{
    return (uint64_t)(uint32_t)status->MPI_internal[1] << 32 | (uint32_t)status->MPI_internal[0];
}

static void status_empty(MPI_Status *status)
{
    status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

static void describe(const struct request *r, const struct result *result, MPI_Status *status)
{
    if (r->kind != REQUEST_RECV)
        status_empty(status);
    else if (r->peer == MPI_PROC_NULL)
        status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
    else if (result->cancelled)
        status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true);
    else
        status_set(status, group_index(r->comm->group, result->source), result->tag, result->bytes,
                   false);
}

/* Puts the data of a result where it belongs; false if there is no room. */
static bool land(const struct request *r, const struct result *result)
{
    if (r->op)
        return fold(r->op, r->blocks[0], result->chunks, result->nchunks);
    bool fits = true;
    for (size_t i = 0; i < r->nblocks && i < result->nchunks; i++)
        fits = unpack(r->blocks[i], result->chunks[i].data, result->chunks[i].size) && fits;
    return fits;
}

static int finish(struct request *r, const struct result *result, MPI_Status *status)
{
    describe(r, result, status);
    if (r->duplicate)
        r->duplicate->context = result->base;
    return land(r, result) ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

/* Sends the frame that posts r. Without a handle the call blocks, and r ends
 * with it. */
int request_issue(struct request *r, struct frame *f, MPI_Request *handle, MPI_Status *status)
{
    struct reply reply = call(f);
    int error = MPI_SUCCESS;
    r->id = reply.request;
    r->active = true;
    if (handle) {
        *handle = r->handle = handle_new(KIND_REQUEST, r);
    } else {
        error = finish(r, &reply.results[0], status);
        if (error)
            error = fail(r->comm, error);
        release(r);
    }
    reply_free(&reply);
    return error;
}

/* A request that completed is gone, or inactive if it is persistent. */
static void retire(struct request *r, MPI_Request *handle)
{
    if (r == &completed) {
        *handle = MPI_REQUEST_NULL;
    } else if (r->persistent) {
        r->active = false;
        r->id = 0;
    } else {
        handle_free(KIND_REQUEST, *handle);
        *handle = MPI_REQUEST_NULL;
        release(r);
    }
}

/* What a completion call found out. */
struct outcome {
    bool flag;
    int active; /* how many requests there were to complete */
    int count;
    int *positions; /* of those that completed */
};

/* The pending requests of a list: positions of the active ones. */
static int *pending(int n, const MPI_Request *handles, int *active, bool *valid, bool *local)
{
    int *positions = allocate((size_t)n * sizeof *positions);
    *active = 0;
    *valid = *local = true;
    for (int i = 0; i < n; i++) {
        if (handles[i] == MPI_REQUEST_NULL)
            continue;
        const struct request *r = handle_object(KIND_REQUEST, handles[i]);
        *valid = *valid && r;
        if (!r || !r->active)
            continue;
        *local = *local && r->id == 0;
        positions[(*active)++] = i;
    }
    return positions;
}

static struct reply ask(const MPI_Request *handles, const int *positions, int n, enum need need,
                        bool block, bool peek)
{
    struct frame f = frame_new(OP_WAIT, block);
    put_u8(&f, (uint8_t)need);
    put_u8(&f, peek);
    put_u64(&f, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        const struct request *r = handle_object(KIND_REQUEST, handles[positions[i]]);
        put_u64(&f, r->id);
    }
    return call(&f);
}

/* Answers as the server would for requests that are all complete. */
static struct reply answer_locally(int n, enum need need, bool block)
{
    struct reply reply = {.flag = true, .nresults = need == ANY && n > 0 ? 1 : (size_t)n};
    reply.results = allocate(reply.nresults * sizeof *reply.results);
    for (size_t i = 0; i < reply.nresults; i++)
        reply.results[i].key = i;
    if (!block)
        clock_tick();
    return reply;
}

/* All completion calls. Statuses go by position for ALL, else in the order of
 * completion. One request's error is the call's own for ANY. The positions of
 * the outcome are to be freed. */
static int complete(int n, MPI_Request *handles, enum need need, bool block, struct outcome *out,
                    MPI_Status *statuses)
{
    bool valid, local;
    REQUIRE(n >= 0, NULL, MPI_ERR_COUNT);
    int *positions = pending(n, handles, &out->active, &valid, &local);
    if (!valid) {
        free(positions);
        return fail(NULL, MPI_ERR_REQUEST);
    }
    struct reply reply = local ? answer_locally(out->active, need, block)
                               : ask(handles, positions, out->active, need, block, false);
    out->flag = reply.flag || block;
    out->count = (int)reply.nresults;
    out->positions = allocate((size_t)out->count * sizeof *out->positions);
    int *errors = allocate((size_t)out->count * sizeof *errors);
    if (need == ALL && out->flag && statuses != MPI_STATUSES_IGNORE)
        for (int i = 0; i < n; i++)
            status_empty(&statuses[i]);
    struct comm *comm = NULL;
    int error = MPI_SUCCESS;
    for (int i = 0; i < out->count; i++) {
        int position = out->positions[i] = positions[reply.results[i].key];
        struct request *r = handle_object(KIND_REQUEST, handles[position]);
        MPI_Status *status = MPI_STATUS_IGNORE;
        if (statuses != MPI_STATUSES_IGNORE)
            status = &statuses[need == ALL ? position : i];
        errors[i] = finish(r, &reply.results[i], status);
        if (errors[i] && !error) {
            error = errors[i];
            comm = r->comm;
            comm->refs++;
        }
        retire(r, &handles[position]);
    }
    reply_free(&reply);
    free(positions);
    if (error && need != ANY) {
        error = MPI_ERR_IN_STATUS;
        for (int i = 0; i < out->count && statuses != MPI_STATUSES_IGNORE; i++)
            statuses[need == ALL ? out->positions[i] : i].MPI_ERROR = errors[i];
    }
    free(errors);
    if (error) {
        error = fail(comm, error);
        comm_release(comm);
    }
    return error;
}

/* MPI_Wait and MPI_Test. */
static int one(MPI_Request *request, bool block, int *flag, MPI_Status *status)
{
    struct outcome out = {0};
    int error = complete(1, request, ANY, block, &out, status);
    if (!error && !out.active)
        status_empty(status);
    if (flag)
        *flag = out.flag;
    free(out.positions);
    return error;
}

int request_wait(MPI_Request *request, MPI_Status *status)
{
    return one(request, true, NULL, status);
}

API(Wait, MPI_Request *request, MPI_Status *status)
{
    ENTER();
    return request_wait(request, status);
}

API(Test, MPI_Request *request, int *flag, MPI_Status *status)
{
    ENTER();
    return one(request, false, flag, status);
}

static int any(int count, MPI_Request *requests, bool block, int *index, int *flag,
               MPI_Status *status)
{
    struct outcome out = {0};
    int error = complete(count, requests, ANY, block, &out, status);
    if (!error && !out.active) {
        status_empty(status);
        out.flag = true;
    }
    *index = out.count ? out.positions[0] : MPI_UNDEFINED;
    if (flag)
        *flag = out.flag;
    free(out.positions);
    return error;
}

API(Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    ENTER();
    return any(count, requests, true, index, NULL, status);
}

API(Testany, int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    ENTER();
    return any(count, requests, false, index, flag, status);
}

static int some(int count, MPI_Request *requests, bool block, int *outcount, int *indices,
                MPI_Status *statuses)
{
    struct outcome out = {0};
    int error = complete(count, requests, SOME, block, &out, statuses);
    *outcount = out.active ? out.count : MPI_UNDEFINED;
    for (int i = 0; i < out.count; i++)
        indices[i] = out.positions[i];
    free(out.positions);
    return error;
}

API(Waitsome, int incount, MPI_Request requests[], int *outcount, int indices[],
    MPI_Status statuses[])
{
    ENTER();
    return some(incount, requests, true, outcount, indices, statuses);
}

API(Testsome, int incount, MPI_Request requests[], int *outcount, int indices[],
    MPI_Status statuses[])
{
    ENTER();
    return some(incount, requests, false, outcount, indices, statuses);
}

API(Waitall, int count, MPI_Request requests[], MPI_Status statuses[])
{
    ENTER();
    struct outcome out = {0};
    int error = complete(count, requests, ALL, true, &out, statuses);
    free(out.positions);
    return error;
}

API(Testall, int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    ENTER();
    struct outcome out = {0};
    int error = complete(count, requests, ALL, false, &out, statuses);
    *flag = out.flag;
    free(out.positions);
    return error;
}

API(Request_get_status, MPI_Request request, int *flag, MPI_Status *status)
{
    ENTER();
    struct request *r = handle_object(KIND_REQUEST, request);
    REQUIRE(r || request == MPI_REQUEST_NULL, NULL, MPI_ERR_REQUEST);
    bool local = !r || !r->active || r->id == 0;
    struct reply reply = local ? answer_locally(1, ANY, false)
                               : ask(&request, &(int){0}, 1, ANY, false, true);
    *flag = reply.flag;
    if (reply.flag && r && r->active)
        describe(r, &reply.results[0], status);
    else if (reply.flag)
        status_empty(status);
    reply_free(&reply);
    return MPI_SUCCESS;
}

static void tell(enum operation op, uint64_t id)
{
    struct frame f = frame_new(op, false);
    put_u64(&f, id);
    struct reply reply = call(&f);
    reply_free(&reply);
}

/* A receive that is freed while it is active completes all the same: its data
 * comes with the reply to some later call. */
API(Request_free, MPI_Request *request)
{
    ENTER();
    struct request *r = handle_object(KIND_REQUEST, *request);
    REQUIRE(r, NULL, MPI_ERR_REQUEST);
    bool pending = r->active && r->id != 0;
    bool transfer = r->kind == REQUEST_SEND || r->kind == REQUEST_RECV;
    REQUIRE(!pending || transfer, r->comm, MPI_ERR_REQUEST);
    if (r != &completed)
        handle_free(KIND_REQUEST, *request);
    *request = MPI_REQUEST_NULL;
    if (pending && r->kind == REQUEST_RECV) {
        pthread_mutex_lock(&freed_lock);
        r->next = freed;
        freed = r;
        pthread_mutex_unlock(&freed_lock);
        tell(OP_FREE, r->id);
        return MPI_SUCCESS;
    }
    if (pending)
        tell(OP_FREE, r->id);
    release(r);
    return MPI_SUCCESS;
}

void request_deliver(const struct result *result)
{
    pthread_mutex_lock(&freed_lock);
    struct request **at = &freed;
    while (*at && (*at)->id != result->key)
        at = &(*at)->next;
    struct request *r = *at;
    if (r)
        *at = r->next;
    pthread_mutex_unlock(&freed_lock);
    if (r) {
        land(r, result);
        release(r);
    }
}

API(Cancel, MPI_Request *request)
{
    ENTER();
    struct request *r = handle_object(KIND_REQUEST, *request);
    REQUIRE(r && r->active, NULL, MPI_ERR_REQUEST);
    if (r->kind == REQUEST_RECV && r->id != 0)
        tell(OP_CANCEL, r->id);
    return MPI_SUCCESS;
}

API(Test_cancelled, const MPI_Status *status, int *flag)
{
    ENTER();
    *flag = status->MPI_internal[2];
    return MPI_SUCCESS;
}

API(Start, MPI_Request *request)
{
    ENTER();
    struct request *r = handle_object(KIND_REQUEST, *request);
    REQUIRE(r && r->persistent && !r->active, NULL, MPI_ERR_REQUEST);
    return start_persistent(r);
}

API(Startall, int count, MPI_Request requests[])
{
    ENTER();
    for (int i = 0; i < count; i++) {
        struct request *r = handle_object(KIND_REQUEST, requests[i]);
        REQUIRE(r && r->persistent && !r->active, NULL, MPI_ERR_REQUEST);
        int error = start_persistent(r);
        if (error)
            return error;
    }
    return MPI_SUCCESS;
}
