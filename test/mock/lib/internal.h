/* What the parts of the library know of each other.
 *
 * An MPI function is defined with API(Name, parameters...), which makes
 * PMPI_Name and its weak alias MPI_Name; nothing inside the library calls
 * either, so a tool sees only the program's own calls. Each begins with ENTER(),
 * except the few that MPI allows at any time. A handle is the value of the
 * standard for a predefined object, else a number that handle.c knows. */
#ifndef MOCK_INTERNAL_H
#define MOCK_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi.h"

#define API_RETURNS(type, name, ...)                                              \
    extern type MPI_##name(__VA_ARGS__) __attribute__((weak, alias("PMPI_" #name))); \
    type PMPI_##name(__VA_ARGS__)
#define API(name, ...) API_RETURNS(int, name, __VA_ARGS__)

/* Names the function for messages, and refuses it outside Init and Finalize. */
#define ENTER()                            \
    do {                                   \
        mpi_function = __func__ + 1;       \
        if (!mpi_running())                \
            return fail_outside();         \
    } while (0)

/* Calls the error handler of a communicator, or the world's if comm is null. */
#define REQUIRE(condition, comm, error)    \
    do {                                   \
        if (!(condition))                  \
            return fail((comm), (error));  \
    } while (0)

/* env.c: the process and what mockrun told it. */
struct environment {
    int fd, rank, size, hosts, appnum;
    bool is_virtual;
    bool cpu; /* then computing takes the time that its thread has a core */
    uint64_t tick;
    int64_t skew, drift; /* of each host's clock against the one before: ns, and ns per s */
};
extern struct environment environment;
extern _Thread_local const char *mpi_function;
bool mpi_running(void);
_Noreturn void mpi_abort(int code);
int host_of(int rank);
void *allocate(size_t size);
void *reallocate(void *old, size_t size);
char *copy_string(const char *text);

/* clock.c */
uint64_t clock_now(void);
void clock_start(void);
void clock_stop(void); /* in a call, until clock_set */
void clock_set(uint64_t now);
void clock_tick(void);

/* wire.c: calls to the server. */
enum operation {
    OP_INIT,
    OP_FINALIZE,
    OP_ABORT,
    OP_SEND,
    OP_RECV,
    OP_PROBE,
    OP_COLLECTIVE,
    OP_WAIT,
    OP_CANCEL,
    OP_FREE
};
struct frame {
    unsigned char *data;
    size_t size, room;
};
struct chunk {
    const void *data;
    size_t size;
};
struct result {
    uint64_t key;
    int source, tag;
    bool cancelled;
    uint64_t bytes, base;
    size_t nchunks;
    struct chunk *chunks;
};
struct reply {
    uint64_t request;
    bool flag;
    size_t nresults, nlate;
    struct result *results, *late;
    unsigned char *data;
};
struct frame frame_new(enum operation op, bool block);
void frame_drop(struct frame *f);
void put_u8(struct frame *f, uint8_t value);
void put_i32(struct frame *f, int32_t value);
void put_u64(struct frame *f, uint64_t value);
void put_chunk(struct frame *f, const void *data, size_t size);
void put_bytes(struct frame *f, const void *data, size_t size);
void *put_space(struct frame *f, size_t size);
void wire_open(int fd);
struct reply call(struct frame *f);
void reply_free(struct reply *r);

/* handle.c */
enum kind {
    KIND_COMM = 1,
    KIND_GROUP,
    KIND_TYPE,
    KIND_OP,
    KIND_REQUEST,
    KIND_MESSAGE,
    KIND_INFO,
    KIND_ERRHANDLER,
    KIND_WIN,
    KIND_KEYVAL,
    KINDS
};
void *handle_new(enum kind kind, void *object);
void handle_predefine(enum kind kind, const void *handle, void *object);
void *handle_object(enum kind kind, const void *handle);
void handle_free(enum kind kind, const void *handle);

/* error.c */
struct comm;
struct errhandler {
    atomic_int refs;
    MPI_Errhandler handle;
    MPI_Comm_errhandler_function *function;
};
int fail(struct comm *comm, int error);
int fail_outside(void);
void errors_start(void);
void errhandler_release(struct errhandler *e);

/* group.c: an ordered set of world ranks. */
struct group {
    atomic_int refs;
    int size;
    int ranks[];
};
struct group *group_new(int size);
struct group *group_get(MPI_Group handle);
void group_release(struct group *g);
int group_index(const struct group *g, int world_rank);
int group_relation(const struct group *a, const struct group *b);
void groups_start(void);

/* comm.c */
struct attribute;
struct cart {
    int ndims;
    int *dims, *periods;
};
struct comm {
    atomic_int refs;
    MPI_Comm handle;
    uint64_t context;
    struct group *group;
    int rank;
    struct errhandler *errhandler;
    struct attribute *attributes;
    struct cart *cart;
    char name[MPI_MAX_OBJECT_NAME];
};
struct comm *comm_get(MPI_Comm handle);
struct comm *comm_split(struct comm *parent, int color, int key);
struct comm *comm_duplicate(struct comm *comm);
MPI_Comm comm_publish(struct comm *comm);
void comm_release(struct comm *comm);
void comms_start(void);
#define COMM(name, handle_)                     \
    struct comm *name = comm_get(handle_);      \
    REQUIRE(name, NULL, MPI_ERR_COMM)

/* attr.c */
int attributes_copy(struct comm *from, struct comm *to);
int attributes_delete(struct comm *comm);
void attributes_drop(struct comm *comm);

/* cart.c */
struct cart *cart_copy(const struct cart *cart);
void cart_free(struct cart *cart);

/* type.c: a datatype is its runs of equal basic elements, in the order in which
 * they are packed. */
enum basic {
    BASIC_BYTE,
    BASIC_I8,
    BASIC_U8,
    BASIC_I16,
    BASIC_U16,
    BASIC_I32,
    BASIC_U32,
    BASIC_I64,
    BASIC_U64,
    BASIC_F32,
    BASIC_F64,
    BASIC_F80,
    BASIC_C32,
    BASIC_C64,
    BASIC_C80,
    BASIC_BOOL,
    BASIC_OPAQUE2,
    BASIC_OPAQUE4,
    BASIC_OPAQUE16,
    BASIC_OPAQUE32,
    BASICS
};
struct run {
    ptrdiff_t offset;
    size_t size;
    enum basic basic;
};
struct type {
    atomic_int refs;
    bool committed, predefined, freed, bounded, pair;
    MPI_Datatype handle;
    size_t size, nruns, align;
    ptrdiff_t lb, extent;
    struct run *runs;
};
struct block {
    void *address;
    MPI_Count count;
    struct type *type;
};
extern const size_t basic_size[BASICS];
struct type *type_get(MPI_Datatype handle);
struct type *type_hold(struct type *t);
void type_release(struct type *t);
void types_start(void);
void *displace(const void *base, ptrdiff_t offset);
void true_bounds(const struct type *t, ptrdiff_t *lb, ptrdiff_t *ub);
void pack(void *to, struct block from);
bool unpack(struct block to, const void *from, size_t size);
void put_packed(struct frame *f, struct block from);
size_t packed_size(struct block b);
struct block block_of(const void *address, MPI_Count count, struct type *type);

/* op.c */
struct op {
    atomic_int refs;
    MPI_Op handle;
    MPI_User_function *function;
    bool commutes;
};
struct op *op_get(MPI_Op handle);
struct op *op_hold(struct op *op);
void op_release(struct op *op);
void ops_start(void);
bool op_fits(const struct op *op, const struct type *type);
bool op_applies(MPI_Op op, enum basic basic);
void op_apply(MPI_Op op, enum basic basic, const void *in, void *inout, size_t n);
bool fold(const struct op *op, struct block to, const struct chunk *chunks, size_t n);

/* request.c */
enum request_kind { REQUEST_SEND, REQUEST_RECV, REQUEST_COLLECTIVE, REQUEST_DUP };
struct request {
    enum request_kind kind;
    uint64_t id; /* the server's name for what is active; 0: it is complete */
    bool active, persistent;
    MPI_Request handle;
    struct comm *comm;
    size_t nblocks;
    struct block *blocks; /* where the chunks of the result go */
    struct op *op;        /* if not null they are folded into the one block */
    struct comm *duplicate;
    int mode, peer, tag; /* mode and tag only of a persistent operation */
    struct request *next; /* in the list of freed receives */
};
struct request *request_new(enum request_kind kind, struct comm *comm, size_t nblocks);
void request_block(struct request *r, size_t i, struct block b);
int request_issue(struct request *r, struct frame *f, MPI_Request *handle, MPI_Status *status);
int request_wait(MPI_Request *request, MPI_Status *status);
void requests_start(void);
MPI_Request request_completed(void);
void request_deliver(const struct result *result);
void status_set(MPI_Status *status, int source, int tag, uint64_t bytes, bool cancelled);
uint64_t status_bytes(const MPI_Status *status);

/* p2p.c */
enum mode { MODE_STANDARD, MODE_SYNCHRONOUS, MODE_EAGER };
int start_persistent(struct request *r);

/* coll.c */
enum shape { ALL_TO_ALL, FROM_ROOT, TO_ROOT, PREFIX, PREFIX_EXCLUSIVE };
struct collective {
    struct comm *comm;
    struct group *group; /* if null, that of comm */
    int64_t tag;
    enum shape shape;
    int root;
    uint64_t bytes;
    bool is_free;
};
struct frame collective_frame(const struct collective *c, bool block);
uint64_t exchange(struct comm *comm, const void *mine, void *all, size_t size);

#endif
