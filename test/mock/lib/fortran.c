/* The functions as Fortran calls them: everything by reference, handles as integers of the same value, indices
 * from 1, lengths of texts behind all other arguments. What mpif.h stands for in C it says by addresses. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int mpi_fortran_bottom_, mpi_fortran_in_place_;
MPI_Status mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;

#define FORTRAN(name, ...) void mpi_##name##_(__VA_ARGS__, int *ierror)
#define RETURNS(name, declared, call)  \
    FORTRAN(name, MPI_UNPACK declared) \
    {                                  \
        *ierror = call;                \
    }
#define MPI_UNPACK(...) __VA_ARGS__

static void *buffer(void *address)
{
    return address == &mpi_fortran_in_place_ ? MPI_IN_PLACE : address == &mpi_fortran_bottom_ ? MPI_BOTTOM : address;
}

static MPI_Status *status_of(MPI_Status *status)
{
    return status == &mpi_fortran_status_ignore_ || status == &mpi_fortran_statuses_ignore_ ? MPI_STATUS_IGNORE : status;
}

#define HANDLE(type, handle) ((type)(intptr_t)(handle))
#define COMM_(c) HANDLE(MPI_Comm, *(c))
#define TYPE_(t) HANDLE(MPI_Datatype, *(t))
#define GROUP_(g) HANDLE(MPI_Group, *(g))
#define OP_(o) HANDLE(MPI_Op, *(o))
#define WIN_(w) HANDLE(MPI_Win, *(w))
#define INFO_(i) HANDLE(MPI_Info, *(i))
#define ERRHANDLER_(e) HANDLE(MPI_Errhandler, *(e))

/* Calls with a handle that C takes by its address. */
#define WITH_HANDLE(type, fortran, call)           \
    type handle = HANDLE(type, *(fortran));        \
    *ierror = (call);                              \
    *(fortran) = (int)(intptr_t)handle

static void to_c(MPI_Request *c, const int *fortran, int n)
{
    for (int i = 0; i < n; i++)
        c[i] = HANDLE(MPI_Request, fortran[i]);
}

static void to_fortran(int *fortran, const MPI_Request *c, int n)
{
    for (int i = 0; i < n; i++)
        fortran[i] = (int)(intptr_t)c[i];
}

static void from_one(int *indices, int n)
{
    for (int i = 0; i < n; i++)
        indices[i] += indices[i] != MPI_UNDEFINED;
}

/* Fortran's texts end where only blanks follow. */
static void to_text(char *text, size_t length, const char *c)
{
    size_t n = strlen(c);
    memset(text, ' ', length);
    memcpy(text, c, n < length ? n : length);
}

static char *from_text(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *c = allocate(length + 1);
    memcpy(c, text, length);
    c[length] = 0;
    return c;
}

/* Environment. */

void mpi_init_(int *ierror)
{
    *ierror = PMPI_Init(NULL, NULL);
}

void mpi_finalize_(int *ierror)
{
    *ierror = PMPI_Finalize();
}

double mpi_wtime_(void)
{
    return PMPI_Wtime();
}

double mpi_wtick_(void)
{
    return PMPI_Wtick();
}

void mpi_pcontrol_(int *level)
{
    PMPI_Pcontrol(*level);
}

RETURNS(init_thread, (int *required, int *provided), PMPI_Init_thread(NULL, NULL, *required, provided))
RETURNS(initialized, (int *flag), PMPI_Initialized(flag))
RETURNS(finalized, (int *flag), PMPI_Finalized(flag))
RETURNS(query_thread, (int *provided), PMPI_Query_thread(provided))
RETURNS(is_thread_main, (int *flag), PMPI_Is_thread_main(flag))
RETURNS(abort, (int *comm, int *code), PMPI_Abort(COMM_(comm), *code))
RETURNS(get_version, (int *version, int *subversion), PMPI_Get_version(version, subversion))
RETURNS(error_class, (int *code, int *class), PMPI_Error_class(*code, class))
RETURNS(get_address, (void *location, MPI_Aint *address), PMPI_Get_address(buffer(location), address))
RETURNS(buffer_attach, (void *start, int *size), PMPI_Buffer_attach(start, *size))
RETURNS(comm_set_errhandler, (int *comm, int *errhandler), PMPI_Comm_set_errhandler(COMM_(comm), ERRHANDLER_(errhandler)))
RETURNS(errhandler_set, (int *comm, int *errhandler), PMPI_Comm_set_errhandler(COMM_(comm), ERRHANDLER_(errhandler)))

FORTRAN(buffer_detach, void *start, int *size)
{
    void *detached;
    (void)start;
    *ierror = PMPI_Buffer_detach(&detached, size);
}

void mpi_get_processor_name_(char *name, int *resultlen, int *ierror, size_t length)
{
    char c[MPI_MAX_PROCESSOR_NAME];
    *ierror = PMPI_Get_processor_name(c, resultlen);
    to_text(name, length, c);
}

void mpi_get_library_version_(char *version, int *resultlen, int *ierror, size_t length)
{
    char c[MPI_MAX_LIBRARY_VERSION_STRING];
    *ierror = PMPI_Get_library_version(c, resultlen);
    to_text(version, length, c);
}

void mpi_error_string_(int *code, char *string, int *resultlen, int *ierror, size_t length)
{
    char c[MPI_MAX_ERROR_STRING];
    *ierror = PMPI_Error_string(*code, c, resultlen);
    to_text(string, length, c);
}

/* Communicators and groups. */

RETURNS(comm_rank, (int *comm, int *rank), PMPI_Comm_rank(COMM_(comm), rank))
RETURNS(comm_size, (int *comm, int *size), PMPI_Comm_size(COMM_(comm), size))
RETURNS(comm_compare, (int *a, int *b, int *result), PMPI_Comm_compare(COMM_(a), COMM_(b), result))
RETURNS(comm_test_inter, (int *comm, int *flag), PMPI_Comm_test_inter(COMM_(comm), flag))
RETURNS(group_size, (int *group, int *size), PMPI_Group_size(GROUP_(group), size))
RETURNS(group_rank, (int *group, int *rank), PMPI_Group_rank(GROUP_(group), rank))
RETURNS(group_translate_ranks, (int *a, int *n, int *ranks, int *b, int *others), PMPI_Group_translate_ranks(GROUP_(a), *n, ranks, GROUP_(b), others))

#define MAKES(name, type, declared, made, call) \
    FORTRAN(name, MPI_UNPACK declared)          \
    {                                           \
        WITH_HANDLE(type, made, call);          \
    }
MAKES(comm_dup, MPI_Comm, (int *comm, int *new), new, PMPI_Comm_dup(COMM_(comm), &handle))
MAKES(comm_split, MPI_Comm, (int *comm, int *color, int *key, int *new), new, PMPI_Comm_split(COMM_(comm), *color, *key, &handle))
MAKES(comm_split_type, MPI_Comm, (int *comm, int *type, int *key, int *info, int *new), new,
      PMPI_Comm_split_type(COMM_(comm), *type, *key, INFO_(info), &handle))
MAKES(comm_create, MPI_Comm, (int *comm, int *group, int *new), new, PMPI_Comm_create(COMM_(comm), GROUP_(group), &handle))
MAKES(comm_free, MPI_Comm, (int *comm), comm, PMPI_Comm_free(&handle))
MAKES(comm_group, MPI_Group, (int *comm, int *group), group, PMPI_Comm_group(COMM_(comm), &handle))
MAKES(group_incl, MPI_Group, (int *group, int *n, int *ranks, int *new), new, PMPI_Group_incl(GROUP_(group), *n, ranks, &handle))
MAKES(group_excl, MPI_Group, (int *group, int *n, int *ranks, int *new), new, PMPI_Group_excl(GROUP_(group), *n, ranks, &handle))
MAKES(group_free, MPI_Group, (int *group), group, PMPI_Group_free(&handle))
MAKES(info_create, MPI_Info, (int *info), info, PMPI_Info_create(&handle))
MAKES(info_free, MPI_Info, (int *info), info, PMPI_Info_free(&handle))

void mpi_comm_set_name_(int *comm, char *name, int *ierror, size_t length)
{
    char *c = from_text(name, length);
    *ierror = PMPI_Comm_set_name(COMM_(comm), c);
    free(c);
}

void mpi_info_set_(int *info, char *key, char *value, int *ierror, size_t key_length, size_t value_length)
{
    char *k = from_text(key, key_length), *v = from_text(value, value_length);
    *ierror = PMPI_Info_set(INFO_(info), k, v);
    free(k);
    free(v);
}

FORTRAN(comm_get_attr, int *comm, int *keyval, MPI_Aint *value, int *flag)
{
    int *c = NULL;
    *ierror = PMPI_Comm_get_attr(COMM_(comm), *keyval, &c, flag);
    if (*flag)
        *value = *c;
}

FORTRAN(attr_get, int *comm, int *keyval, int *value, int *flag)
{
    int *c = NULL;
    *ierror = PMPI_Comm_get_attr(COMM_(comm), *keyval, &c, flag);
    if (*flag)
        *value = *c;
}

RETURNS(dims_create, (int *nodes, int *ndims, int *dims), PMPI_Dims_create(*nodes, *ndims, dims))
RETURNS(topo_test, (int *comm, int *status), PMPI_Topo_test(COMM_(comm), status))
RETURNS(cartdim_get, (int *comm, int *ndims), PMPI_Cartdim_get(COMM_(comm), ndims))
RETURNS(cart_get, (int *comm, int *max, int *dims, int *periods, int *coords), PMPI_Cart_get(COMM_(comm), *max, dims, periods, coords))
RETURNS(cart_rank, (int *comm, int *coords, int *rank), PMPI_Cart_rank(COMM_(comm), coords, rank))
RETURNS(cart_coords, (int *comm, int *rank, int *max, int *coords), PMPI_Cart_coords(COMM_(comm), *rank, *max, coords))
RETURNS(cart_shift, (int *comm, int *direction, int *disp, int *source, int *dest), PMPI_Cart_shift(COMM_(comm), *direction, *disp, source, dest))
MAKES(cart_create, MPI_Comm, (int *comm, int *ndims, int *dims, int *periods, int *reorder, int *new), new,
      PMPI_Cart_create(COMM_(comm), *ndims, dims, periods, *reorder, &handle))
MAKES(cart_sub, MPI_Comm, (int *comm, int *remain, int *new), new, PMPI_Cart_sub(COMM_(comm), remain, &handle))

/* Datatypes and operations. */

MAKES(type_contiguous, MPI_Datatype, (int *count, int *old, int *new), new, PMPI_Type_contiguous(*count, TYPE_(old), &handle))
MAKES(type_vector, MPI_Datatype, (int *count, int *length, int *stride, int *old, int *new), new,
      PMPI_Type_vector(*count, *length, *stride, TYPE_(old), &handle))
MAKES(type_create_hvector, MPI_Datatype, (int *count, int *length, MPI_Aint *stride, int *old, int *new), new,
      PMPI_Type_create_hvector(*count, *length, *stride, TYPE_(old), &handle))
MAKES(type_hvector, MPI_Datatype, (int *count, int *length, int *stride, int *old, int *new), new,
      PMPI_Type_create_hvector(*count, *length, *stride, TYPE_(old), &handle))
MAKES(type_indexed, MPI_Datatype, (int *count, int *lengths, int *displs, int *old, int *new), new,
      PMPI_Type_indexed(*count, lengths, displs, TYPE_(old), &handle))
MAKES(type_create_hindexed, MPI_Datatype, (int *count, int *lengths, MPI_Aint *displs, int *old, int *new), new,
      PMPI_Type_create_hindexed(*count, lengths, displs, TYPE_(old), &handle))
MAKES(type_create_indexed_block, MPI_Datatype, (int *count, int *length, int *displs, int *old, int *new), new,
      PMPI_Type_create_indexed_block(*count, *length, displs, TYPE_(old), &handle))
MAKES(type_create_subarray, MPI_Datatype, (int *ndims, int *sizes, int *subsizes, int *starts, int *order, int *old, int *new), new,
      PMPI_Type_create_subarray(*ndims, sizes, subsizes, starts, *order, TYPE_(old), &handle))
MAKES(type_create_resized, MPI_Datatype, (int *old, MPI_Aint *lb, MPI_Aint *extent, int *new), new,
      PMPI_Type_create_resized(TYPE_(old), *lb, *extent, &handle))
MAKES(type_commit, MPI_Datatype, (int *type), type, PMPI_Type_commit(&handle))
MAKES(type_free, MPI_Datatype, (int *type), type, PMPI_Type_free(&handle))
MAKES(op_create, MPI_Op, (MPI_User_function *function, int *commute, int *op), op, PMPI_Op_create(function, *commute, &handle))
MAKES(op_free, MPI_Op, (int *op), op, PMPI_Op_free(&handle))
RETURNS(type_size, (int *type, int *size), PMPI_Type_size(TYPE_(type), size))
RETURNS(type_get_extent, (int *type, MPI_Aint *lb, MPI_Aint *extent), PMPI_Type_get_extent(TYPE_(type), lb, extent))
RETURNS(get_count, (MPI_Status *status, int *type, int *count), PMPI_Get_count(status, TYPE_(type), count))
RETURNS(get_elements, (MPI_Status *status, int *type, int *count), PMPI_Get_elements(status, TYPE_(type), count))
RETURNS(pack_size, (int *count, int *type, int *comm, int *size), PMPI_Pack_size(*count, TYPE_(type), COMM_(comm), size))
RETURNS(pack, (void *in, int *count, int *type, void *out, int *size, int *position, int *comm),
        PMPI_Pack(buffer(in), *count, TYPE_(type), out, *size, position, COMM_(comm)))
RETURNS(unpack, (void *in, int *size, int *position, void *out, int *count, int *type, int *comm),
        PMPI_Unpack(in, *size, position, buffer(out), *count, TYPE_(type), COMM_(comm)))

FORTRAN(type_extent, int *type, int *extent)
{
    MPI_Aint lb, bytes;
    *ierror = PMPI_Type_get_extent(TYPE_(type), &lb, &bytes);
    *extent = (int)bytes;
}

FORTRAN(type_create_struct, int *count, int *lengths, MPI_Aint *displs, int *types, int *new)
{
    MPI_Datatype c[*count + 1];
    for (int i = 0; i < *count; i++)
        c[i] = HANDLE(MPI_Datatype, types[i]);
    WITH_HANDLE(MPI_Datatype, new, PMPI_Type_create_struct(*count, lengths, displs, c, &handle));
}

/* Messages. */

#define SENDS(name, Name)                                                                      \
    RETURNS(name, (void *buf, int *count, int *type, int *dest, int *tag, int *comm),          \
            PMPI_##Name(buffer(buf), *count, TYPE_(type), *dest, *tag, COMM_(comm)))
#define REQUESTS(name, Name)                                                                                   \
    MAKES(name, MPI_Request, (void *buf, int *count, int *type, int *peer, int *tag, int *comm, int *request), \
          request, PMPI_##Name(buffer(buf), *count, TYPE_(type), *peer, *tag, COMM_(comm), &handle))
SENDS(send, Send)
SENDS(bsend, Bsend)
SENDS(ssend, Ssend)
SENDS(rsend, Rsend)
REQUESTS(isend, Isend)
REQUESTS(ibsend, Ibsend)
REQUESTS(issend, Issend)
REQUESTS(irsend, Irsend)
REQUESTS(irecv, Irecv)
REQUESTS(send_init, Send_init)
REQUESTS(bsend_init, Bsend_init)
REQUESTS(ssend_init, Ssend_init)
REQUESTS(rsend_init, Rsend_init)
REQUESTS(recv_init, Recv_init)
RETURNS(recv, (void *buf, int *count, int *type, int *source, int *tag, int *comm, MPI_Status *status),
        PMPI_Recv(buffer(buf), *count, TYPE_(type), *source, *tag, COMM_(comm), status_of(status)))
RETURNS(sendrecv,
        (void *out, int *outs, int *out_type, int *dest, int *out_tag, void *in, int *ins, int *in_type, int *source, int *in_tag, int *comm,
         MPI_Status *status),
        PMPI_Sendrecv(buffer(out), *outs, TYPE_(out_type), *dest, *out_tag, buffer(in), *ins, TYPE_(in_type), *source, *in_tag, COMM_(comm),
                      status_of(status)))
RETURNS(sendrecv_replace, (void *buf, int *count, int *type, int *dest, int *out_tag, int *source, int *in_tag, int *comm, MPI_Status *status),
        PMPI_Sendrecv_replace(buffer(buf), *count, TYPE_(type), *dest, *out_tag, *source, *in_tag, COMM_(comm), status_of(status)))
RETURNS(probe, (int *source, int *tag, int *comm, MPI_Status *status), PMPI_Probe(*source, *tag, COMM_(comm), status_of(status)))
RETURNS(iprobe, (int *source, int *tag, int *comm, int *flag, MPI_Status *status),
        PMPI_Iprobe(*source, *tag, COMM_(comm), flag, status_of(status)))
MAKES(start, MPI_Request, (int *request), request, PMPI_Start(&handle))
MAKES(wait, MPI_Request, (int *request, MPI_Status *status), request, PMPI_Wait(&handle, status_of(status)))
MAKES(test, MPI_Request, (int *request, int *flag, MPI_Status *status), request, PMPI_Test(&handle, flag, status_of(status)))
MAKES(request_free, MPI_Request, (int *request), request, PMPI_Request_free(&handle))
MAKES(cancel, MPI_Request, (int *request), request, PMPI_Cancel(&handle))
RETURNS(test_cancelled, (MPI_Status *status, int *flag), PMPI_Test_cancelled(status, flag))

#define OF_SEVERAL(name, declared, call, more) \
    FORTRAN(name, MPI_UNPACK declared)         \
    {                                          \
        MPI_Request c[*n + 1];                 \
        to_c(c, requests, *n);                 \
        *ierror = (call);                      \
        to_fortran(requests, c, *n);           \
        more;                                  \
    }
OF_SEVERAL(startall, (int *n, int *requests), PMPI_Startall(*n, c), )
OF_SEVERAL(waitall, (int *n, int *requests, MPI_Status *statuses), PMPI_Waitall(*n, c, status_of(statuses)), )
OF_SEVERAL(testall, (int *n, int *requests, int *flag, MPI_Status *statuses), PMPI_Testall(*n, c, flag, status_of(statuses)), )
OF_SEVERAL(waitany, (int *n, int *requests, int *index, MPI_Status *status), PMPI_Waitany(*n, c, index, status_of(status)), from_one(index, 1))
OF_SEVERAL(testany, (int *n, int *requests, int *index, int *flag, MPI_Status *status), PMPI_Testany(*n, c, index, flag, status_of(status)),
           from_one(index, 1))
OF_SEVERAL(waitsome, (int *n, int *requests, int *done, int *indices, MPI_Status *statuses),
           PMPI_Waitsome(*n, c, done, indices, status_of(statuses)), from_one(indices, *done))
OF_SEVERAL(testsome, (int *n, int *requests, int *done, int *indices, MPI_Status *statuses),
           PMPI_Testsome(*n, c, done, indices, status_of(statuses)), from_one(indices, *done))

/* Collective operations, and the same without waiting. */

#define COLLECTIVE(name, Name, declared, ...)                                                        \
    RETURNS(name, declared, PMPI_##Name(__VA_ARGS__))                                                \
    FORTRAN(i##name, MPI_UNPACK declared, int *request)                                              \
    {                                                                                                \
        WITH_HANDLE(MPI_Request, request, PMPI_I##name(__VA_ARGS__, &handle));                       \
    }
COLLECTIVE(barrier, Barrier, (int *comm), COMM_(comm))
COLLECTIVE(bcast, Bcast, (void *buf, int *count, int *type, int *root, int *comm), buffer(buf), *count, TYPE_(type), *root, COMM_(comm))
#define ONE_TYPE_EACH (void *out, int *outs, int *out_type, void *in, int *ins, int *in_type, int *comm)
#define ONE_TYPE_EACH_AND_ROOT (void *out, int *outs, int *out_type, void *in, int *ins, int *in_type, int *root, int *comm)
#define OUT_ buffer(out), *outs, TYPE_(out_type)
#define IN_ buffer(in), *ins, TYPE_(in_type)
COLLECTIVE(gather, Gather, ONE_TYPE_EACH_AND_ROOT, OUT_, IN_, *root, COMM_(comm))
COLLECTIVE(scatter, Scatter, ONE_TYPE_EACH_AND_ROOT, OUT_, IN_, *root, COMM_(comm))
COLLECTIVE(allgather, Allgather, ONE_TYPE_EACH, OUT_, IN_, COMM_(comm))
COLLECTIVE(alltoall, Alltoall, ONE_TYPE_EACH, OUT_, IN_, COMM_(comm))
COLLECTIVE(gatherv, Gatherv, (void *out, int *outs, int *out_type, void *in, int *ins, int *displs, int *in_type, int *root, int *comm), OUT_,
           buffer(in), ins, displs, TYPE_(in_type), *root, COMM_(comm))
COLLECTIVE(scatterv, Scatterv, (void *out, int *outs, int *displs, int *out_type, void *in, int *ins, int *in_type, int *root, int *comm),
           buffer(out), outs, displs, TYPE_(out_type), IN_, *root, COMM_(comm))
COLLECTIVE(allgatherv, Allgatherv, (void *out, int *outs, int *out_type, void *in, int *ins, int *displs, int *in_type, int *comm), OUT_,
           buffer(in), ins, displs, TYPE_(in_type), COMM_(comm))
COLLECTIVE(alltoallv, Alltoallv,
           (void *out, int *outs, int *out_displs, int *out_type, void *in, int *ins, int *in_displs, int *in_type, int *comm), buffer(out), outs,
           out_displs, TYPE_(out_type), buffer(in), ins, in_displs, TYPE_(in_type), COMM_(comm))
COLLECTIVE(reduce, Reduce, (void *out, void *in, int *count, int *type, int *op, int *root, int *comm), buffer(out), buffer(in), *count,
           TYPE_(type), OP_(op), *root, COMM_(comm))
#define FOLDED (void *out, void *in, int *count, int *type, int *op, int *comm)
#define FOLD_ buffer(out), buffer(in), *count, TYPE_(type), OP_(op), COMM_(comm)
COLLECTIVE(allreduce, Allreduce, FOLDED, FOLD_)
COLLECTIVE(scan, Scan, FOLDED, FOLD_)
COLLECTIVE(exscan, Exscan, FOLDED, FOLD_)
COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, FOLDED, FOLD_)
COLLECTIVE(reduce_scatter, Reduce_scatter, (void *out, void *in, int *counts, int *type, int *op, int *comm), buffer(out), buffer(in), counts,
           TYPE_(type), OP_(op), COMM_(comm))

/* Windows. */

MAKES(win_create, MPI_Win, (void *base, MPI_Aint *size, int *unit, int *info, int *comm, int *win), win,
      PMPI_Win_create(base, *size, *unit, INFO_(info), COMM_(comm), &handle))
MAKES(win_free, MPI_Win, (int *win), win, PMPI_Win_free(&handle))
RETURNS(win_fence, (int *assert, int *win), PMPI_Win_fence(*assert, WIN_(win)))
#define ACCESS (void *origin, int *count, int *type, int *rank, MPI_Aint *disp, int *target_count, int *target_type, int *win)
RETURNS(put, ACCESS, PMPI_Put(buffer(origin), *count, TYPE_(type), *rank, *disp, *target_count, TYPE_(target_type), WIN_(win)))
RETURNS(get, ACCESS, PMPI_Get(buffer(origin), *count, TYPE_(type), *rank, *disp, *target_count, TYPE_(target_type), WIN_(win)))
