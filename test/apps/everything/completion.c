/* Waiting and testing: one, any, some and all requests; none, null and inactive ones; cancelled and freed. */
#include "expect.h"

enum { TAG = 3, MANY = 6 };
#define WORLD MPI_COMM_WORLD
#define INT ((long long)sizeof(int))

static int out[MANY], in[MANY];
static int to, from;

/* requests[0, half) receive, the rest send to the neighbour. */
static void begin(MPI_Request *requests, int half)
{
    for (int i = 0; i < half; i++) {
        in[i] = -1;
        out[i] = rank * 100 + i;
        CALL(Irecv, on(WORLD), 0, 0, &in[i], 1, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, TAG + i, WORLD, &requests[i]);
    }
    for (int i = 0; i < half; i++) {
        CALL(Isend, on(WORLD), INT, 0, &out[i], 1, MPI_INT, to, TAG + i, WORLD, &requests[half + i]);
        sent(WORLD, to, INT);
    }
}

static void done(int half)
{
    for (int i = 0; i < half; i++) {
        arrived("MPI_Irecv", WORLD, from, INT);
        CHECK(in[i] == from * 100 + i);
    }
}

static void all(void)
{
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int flag;
    begin(requests, MANY);
    DO(Waitall, 2 * MANY, requests, statuses);
    done(MANY);
    CHECK(statuses[0].MPI_SOURCE == from && statuses[MANY - 1].MPI_TAG == TAG + MANY - 1);
    begin(requests, MANY);
    DO(Waitall, 2 * MANY, requests, MPI_STATUSES_IGNORE);
    done(MANY);
    DO(Waitall, 2 * MANY, requests, MPI_STATUSES_IGNORE); /* all null by now */
    DO(Waitall, 2 * MANY, requests, statuses);
    DO(Waitall, 0, requests, MPI_STATUSES_IGNORE);
    DO(Waitall, 0, NULL, statuses);
    begin(requests, MANY);
    do {
        DO(Testall, 2 * MANY, requests, &flag, statuses);
    } while (!flag);
    hit("MPI_Testall");
    done(MANY);
    begin(requests, 1);
    do {
        DO(Testall, 2, requests, &flag, MPI_STATUSES_IGNORE);
    } while (!flag);
    hit("MPI_Testall");
    done(1);
    DO(Testall, 0, NULL, &flag, MPI_STATUSES_IGNORE);
    hit("MPI_Testall");
    CHECK(flag);
}

static void any(void)
{
    MPI_Request requests[2 * MANY];
    MPI_Status status;
    int index, flag;
    begin(requests, MANY);
    for (int i = 0; i < 2 * MANY; i++) {
        DO(Waitany, 2 * MANY, requests, &index, i % 2 ? &status : MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < 2 * MANY && requests[index] == MPI_REQUEST_NULL);
    }
    done(MANY);
    DO(Waitany, 2 * MANY, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
    DO(Waitany, 0, NULL, &index, &status);
    CHECK(index == MPI_UNDEFINED);
    begin(requests, MANY);
    for (int i = 0; i < 2 * MANY; i += flag) {
        DO(Testany, 2 * MANY, requests, &index, &flag, i % 2 ? &status : MPI_STATUS_IGNORE);
        if (flag)
            hit("MPI_Testany");
    }
    done(MANY);
    DO(Testany, 2 * MANY, requests, &index, &flag, &status);
    hit("MPI_Testany");
    CHECK(flag && index == MPI_UNDEFINED);
    DO(Testany, 0, NULL, &index, &flag, MPI_STATUS_IGNORE);
    hit("MPI_Testany");
}

static void some(void)
{
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int indices[2 * MANY], n;
    begin(requests, MANY);
    for (int left = 2 * MANY; left > 0; left -= n) {
        DO(Waitsome, 2 * MANY, requests, &n, indices, left % 2 ? statuses : MPI_STATUSES_IGNORE);
        CHECK(n > 0);
    }
    done(MANY);
    DO(Waitsome, 2 * MANY, requests, &n, indices, statuses);
    CHECK(n == MPI_UNDEFINED);
    DO(Waitsome, 0, NULL, &n, NULL, MPI_STATUSES_IGNORE);
    CHECK(n == MPI_UNDEFINED);
    begin(requests, MANY);
    for (int left = 2 * MANY; left > 0; left -= n) {
        DO(Testsome, 2 * MANY, requests, &n, indices, left % 2 ? statuses : MPI_STATUSES_IGNORE);
        if (n > 0)
            hit("MPI_Testsome");
    }
    done(MANY);
    DO(Testsome, 2 * MANY, requests, &n, indices, MPI_STATUSES_IGNORE);
    CHECK(n == MPI_UNDEFINED);
}

static void one(void)
{
    MPI_Request requests[2], null = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag;
    begin(requests, 1);
    do {
        DO(Request_get_status, requests[0], &flag, &status);
        if (flag)
            hit("MPI_Request_get_status");
    } while (!flag);
    CHECK(requests[0] != MPI_REQUEST_NULL && status.MPI_SOURCE == from);
    for (int i = 0; i < 2; i++) {
        do {
            DO(Test, &requests[i], &flag, i ? MPI_STATUS_IGNORE : &status);
        } while (!flag);
        hit("MPI_Test");
    }
    done(1);
    DO(Wait, &null, &status);
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
    DO(Wait, &null, MPI_STATUS_IGNORE);
    DO(Test, &null, &flag, MPI_STATUS_IGNORE);
    hit("MPI_Test");
    CHECK(flag);
}

#ifdef HAS_MPI41
/* Several requests that are looked at, and stay. */
static void looked_at(void)
{
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int indices[2 * MANY], index, n, flag;
    begin(requests, MANY);
    do {
        DO(Request_get_status_any, 2 * MANY, requests, &index, &flag, statuses);
        if (flag)
            hit("MPI_Request_get_status_any");
    } while (!flag);
    CHECK(index >= 0 && index < 2 * MANY && requests[index] != MPI_REQUEST_NULL);
    do {
        DO(Request_get_status_some, 2 * MANY, requests, &n, indices, statuses);
        if (n > 0)
            hit("MPI_Request_get_status_some");
    } while (n < 1);
    CHECK(requests[indices[0]] != MPI_REQUEST_NULL);
    do {
        DO(Request_get_status_all, 2 * MANY, requests, &flag, statuses);
        if (flag)
            hit("MPI_Request_get_status_all");
    } while (!flag);
    DO(Waitall, 2 * MANY, requests, MPI_STATUSES_IGNORE);
    done(MANY);
}
#endif

/* Persistent requests started together; inactive ones do not hold anybody up. */
static void persistent(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int index, flag;
    CALL(Recv_init, on(WORLD), 0, 0, &in[0], 1, MPI_INT, from, TAG, WORLD, &requests[0]);
    CALL(Recv_init, on(WORLD), 0, 0, &in[1], 1, MPI_INT, MPI_ANY_SOURCE, TAG + 1, WORLD, &requests[1]);
    CALL(Send_init, on(WORLD), 0, 0, &out[0], 1, MPI_INT, to, TAG, WORLD, &requests[2]);
    CALL(Ssend_init, on(WORLD), 0, 0, &out[1], 1, MPI_INT, to, TAG + 1, WORLD, &requests[3]);
    for (int round = 0; round < 3; round++) {
        out[0] = rank * 100 + round;
        out[1] = rank * 100 + round + 50;
        DO(Startall, 4, requests);
        for (int i = 0; i < 2; i++) {
            moved("MPI_Startall", on(WORLD), INT, 0);
            sent(WORLD, to, INT);
        }
        DO(Waitall, 4, requests, round ? statuses : MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2; i++)
            arrived("MPI_Startall", WORLD, from, INT);
        CHECK(in[0] == from * 100 + round && in[1] == from * 100 + round + 50);
        DO(Waitall, 4, requests, MPI_STATUSES_IGNORE);
        DO(Waitany, 4, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index == MPI_UNDEFINED);
        DO(Test, &requests[0], &flag, MPI_STATUS_IGNORE);
        hit("MPI_Test");
    }
    DO(Startall, 0, requests);
    /* One at a time */
    DO(Start, &requests[0]);
    DO(Start, &requests[2]);
    moved("MPI_Start", on(WORLD), INT, 0);
    sent(WORLD, to, INT);
    DO(Wait, &requests[0], &statuses[0]);
    arrived("MPI_Start", WORLD, from, INT);
    DO(Wait, &requests[2], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++)
        DO(Request_free, &requests[i]);
}

static void cancelled_and_freed(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag;
    CALL(Irecv, on(WORLD), 0, 0, in, 1, MPI_INT, MPI_ANY_SOURCE, TAG + 50, WORLD, &request);
    DO(Cancel, &request);
    DO(Wait, &request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    CALL(Irecv, on(WORLD), 0, 0, in, 1, MPI_INT, from, TAG + 50, WORLD, &request);
    DO(Cancel, &request);
    do {
        DO(Test, &request, &flag, MPI_STATUS_IGNORE);
    } while (!flag);
    hit("MPI_Test");
    /* A send may be freed at once: its bytes are on their way all the same. */
    CALL(Isend, on(WORLD), INT, 0, out, 1, MPI_INT, to, TAG, WORLD, &request);
    sent(WORLD, to, INT);
    DO(Request_free, &request);
    CHECK(request == MPI_REQUEST_NULL);
    CALL(Recv, on(WORLD), 0, INT, in, 1, MPI_INT, from, TAG, WORLD, MPI_STATUS_IGNORE);
    messages("MPI_Recv", 1);
    received(WORLD, from, INT);
}

#ifndef MOCK_MPI_H
static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag;
    DO(Grequest_start, query, release, cancel, NULL, &request);
    DO(Test, &request, &flag, &status);
    CHECK(!flag);
    DO(Grequest_complete, request);
    DO(Wait, &request, &status);
    CHECK(request == MPI_REQUEST_NULL);
}
#endif

void completion(void)
{
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    all();
    any();
    some();
#ifdef HAS_MPI41
    looked_at();
#endif
    one();
    persistent();
    cancelled_and_freed();
    MPI3(generalized();)
}
