/* Calls that return an error (see main) are counted as such, and nothing they were given is. */
#include "expect.h"

#define WORLD MPI_COMM_WORLD
#define INT ((long long)sizeof(int))

/* One of two requests fails: a message longer than the room for it. What the call completed is not told. */
static void in_status(void)
{
    int out[2] = {1, 2}, in[2], result;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CALL(Irecv, on(WORLD), 0, 0, &in[0], 1, MPI_INT, from, 21, WORLD, &requests[0]);
    CALL(Irecv, on(WORLD), 0, 0, &in[1], 1, MPI_INT, from, 22, WORLD, &requests[1]);
    DO_ON(Barrier, WORLD, WORLD);
    CALL(Send, on(WORLD), INT, 0, out, 1, MPI_INT, to, 21, WORLD);
    sent(WORLD, to, INT);
    CALL(Send, on(WORLD), 2 * INT, 0, out, 2, MPI_INT, to, 22, WORLD);
    sent(WORLD, to, 2 * INT);
    result = MPI_Waitall(2, requests, statuses);
    CHECK(result == MPI_ERR_IN_STATUS && statuses[1].MPI_ERROR != MPI_SUCCESS);
    counted("MPI_Waitall", NOWHERE, 0, 0);
    failed("MPI_Waitall");
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && in[0] == 1); /* received, but not counted */
}

void errors(void)
{
    int data = 1, flag;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype type;
    FAIL(Send, &data, 1, MPI_INT, size, 1, WORLD);
    FAIL(Send, &data, -1, MPI_INT, 0, 1, WORLD);
    FAIL(Send, &data, 1, MPI_DATATYPE_NULL, 0, 1, WORLD);
    FAIL(Send, &data, 1, MPI_INT, 0, -50, WORLD);
    FAIL(Isend, &data, 1, MPI_INT, -77, 1, WORLD, &request);
    FAIL(Irecv, &data, 1, MPI_INT, size, 1, WORLD, &request);
    FAIL(Bcast, &data, 1, MPI_INT, size, WORLD);
    FAIL(Reduce, &data, &data, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, WORLD);
    FAIL(Iprobe, size, 0, WORLD, &flag, MPI_STATUS_IGNORE);
    FAIL(Send, &data, 1, MPI_INT, 0, 1, comm); /* reported to the world's handler */
    FAIL(Comm_dup, comm, &comm);
    FAIL(Type_contiguous, -1, MPI_INT, &type);
    CALL(Sendrecv, on(MPI_COMM_SELF), INT, INT, &data, 1, MPI_INT, 0, 1, &flag, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    messages("MPI_Sendrecv", 1);
    sent(MPI_COMM_SELF, 0, INT);
    received(MPI_COMM_SELF, 0, INT);
    in_status();
}
