/* Errors and their handlers.
 *
 * An error that belongs to no communicator goes to the handler of
 * MPI_COMM_WORLD, as in the MPIs of before MPI-4, because that is where programs
 * set one. Error codes are error classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct errhandler are_fatal = {.refs = 1, .handle = MPI_ERRORS_ARE_FATAL};
static struct errhandler returns = {.refs = 1, .handle = MPI_ERRORS_RETURN};
static struct errhandler aborts = {.refs = 1, .handle = MPI_ERRORS_ABORT};

static const char *const texts[] = {
    [MPI_SUCCESS] = "MPI_SUCCESS: no error",
    [MPI_ERR_BUFFER] = "MPI_ERR_BUFFER: invalid buffer",
    [MPI_ERR_COUNT] = "MPI_ERR_COUNT: invalid count",
    [MPI_ERR_TYPE] = "MPI_ERR_TYPE: invalid or uncommitted datatype",
    [MPI_ERR_TAG] = "MPI_ERR_TAG: invalid tag",
    [MPI_ERR_COMM] = "MPI_ERR_COMM: invalid communicator",
    [MPI_ERR_RANK] = "MPI_ERR_RANK: invalid rank",
    [MPI_ERR_REQUEST] = "MPI_ERR_REQUEST: invalid request",
    [MPI_ERR_ROOT] = "MPI_ERR_ROOT: invalid root",
    [MPI_ERR_GROUP] = "MPI_ERR_GROUP: invalid group",
    [MPI_ERR_OP] = "MPI_ERR_OP: invalid operation",
    [MPI_ERR_TOPOLOGY] = "MPI_ERR_TOPOLOGY: invalid topology",
    [MPI_ERR_DIMS] = "MPI_ERR_DIMS: invalid dimensions",
    [MPI_ERR_ARG] = "MPI_ERR_ARG: invalid argument",
    [MPI_ERR_TRUNCATE] = "MPI_ERR_TRUNCATE: message truncated",
    [MPI_ERR_OTHER] = "MPI_ERR_OTHER: not allowed here",
    [MPI_ERR_INTERN] = "MPI_ERR_INTERN: internal error",
    [MPI_ERR_IN_STATUS] = "MPI_ERR_IN_STATUS: error in a status",
    [MPI_ERR_INFO_KEY] = "MPI_ERR_INFO_KEY: invalid info key",
    [MPI_ERR_INFO_NOKEY] = "MPI_ERR_INFO_NOKEY: no such info key",
    [MPI_ERR_INFO_VALUE] = "MPI_ERR_INFO_VALUE: invalid info value",
    [MPI_ERR_INFO] = "MPI_ERR_INFO: invalid info object",
    [MPI_ERR_KEYVAL] = "MPI_ERR_KEYVAL: invalid keyval",
    [MPI_ERR_RMA_RANGE] = "MPI_ERR_RMA_RANGE: outside of the window",
    [MPI_ERR_WIN] = "MPI_ERR_WIN: invalid window",
    [MPI_ERR_ERRHANDLER] = "MPI_ERR_ERRHANDLER: invalid error handler",
};

static const char *text_of(int error)
{
    if (error < 0 || error > MPI_ERR_LASTCODE)
        return NULL;
    bool known = (size_t)error < sizeof texts / sizeof *texts && texts[error];
    return known ? texts[error] : "MPI_ERR_UNKNOWN: unknown error";
}

void errors_start(void)
{
    handle_predefine(KIND_ERRHANDLER, MPI_ERRORS_ARE_FATAL, &are_fatal);
    handle_predefine(KIND_ERRHANDLER, MPI_ERRORS_RETURN, &returns);
    handle_predefine(KIND_ERRHANDLER, MPI_ERRORS_ABORT, &aborts);
}

int fail(struct comm *comm, int error)
{
    if (!comm)
        comm = comm_get(MPI_COMM_WORLD);
    struct errhandler *e = comm ? comm->errhandler : &are_fatal;
    if (e == &returns)
        return error;
    if (e->function) {
        MPI_Comm handle = comm->handle;
        e->function(&handle, &error);
        return error;
    }
    fprintf(stderr, "mockmpi: rank %d: %s: %s\n", environment.rank, mpi_function, text_of(error));
    mpi_abort(error);
}

void errhandler_release(struct errhandler *e)
{
    if (--e->refs == 0)
        free(e);
}

API(Comm_create_errhandler, MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    ENTER();
    struct errhandler *e = allocate(sizeof *e);
    e->refs = 1;
    e->function = function;
    *errhandler = e->handle = handle_new(KIND_ERRHANDLER, e);
    return MPI_SUCCESS;
}

API(Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler errhandler)
{
    ENTER();
    COMM(c, comm);
    struct errhandler *e = handle_object(KIND_ERRHANDLER, errhandler);
    REQUIRE(e, c, MPI_ERR_ERRHANDLER);
    e->refs++;
    errhandler_release(c->errhandler);
    c->errhandler = e;
    return MPI_SUCCESS;
}

/* A handler that was freed while it is still in use gets a new handle. */
API(Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler *errhandler)
{
    ENTER();
    COMM(c, comm);
    struct errhandler *e = c->errhandler;
    e->refs++;
    *errhandler = e->function ? handle_new(KIND_ERRHANDLER, e) : e->handle;
    return MPI_SUCCESS;
}

API(Comm_call_errhandler, MPI_Comm comm, int errorcode)
{
    ENTER();
    COMM(c, comm);
    fail(c, errorcode);
    return MPI_SUCCESS;
}

API(Errhandler_free, MPI_Errhandler *errhandler)
{
    ENTER();
    struct errhandler *e = handle_object(KIND_ERRHANDLER, *errhandler);
    REQUIRE(e, NULL, MPI_ERR_ERRHANDLER);
    if (e->function) {
        handle_free(KIND_ERRHANDLER, *errhandler);
        errhandler_release(e);
    }
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

API(Error_class, int errorcode, int *errorclass)
{
    mpi_function = "MPI_Error_class";
    REQUIRE(text_of(errorcode), NULL, MPI_ERR_ARG);
    *errorclass = errorcode;
    return MPI_SUCCESS;
}

API(Error_string, int errorcode, char *string, int *resultlen)
{
    mpi_function = "MPI_Error_string";
    REQUIRE(text_of(errorcode), NULL, MPI_ERR_ARG);
    *resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s", text_of(errorcode));
    return MPI_SUCCESS;
}
