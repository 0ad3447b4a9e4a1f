/* Messages between two ranks: every mode, blocking, non-blocking and persistent; receives and probes. */
#include "expect.h"

enum { N = 5, TAG = 7 };
#define BYTES ((long long)(N * sizeof(int)))

static MPI_Comm comm;
static const char *where;
static int to, from;
static int out[N], in[N];

static void fill(int salt)
{
    for (int i = 0; i < N; i++) {
        out[i] = rank * 1000 + salt + i;
        in[i] = -1;
    }
}

static bool good(int salt)
{
    for (int i = 0; i < N; i++)
        if (in[i] != from * 1000 + salt + i)
            return false;
    return true;
}

static void wait_for(MPI_Request *request)
{
    DO(Wait, request, MPI_STATUS_IGNORE);
    CHECK(*request == MPI_REQUEST_NULL);
}

/* A receive must be posted everywhere before anybody may send in ready mode. */
static void post(MPI_Request *request)
{
    CALL(Irecv, where, 0, 0, in, N, MPI_INT, from, TAG, comm, request);
    DO_ON(Barrier, comm, comm);
}

static void take(MPI_Request *request, int salt)
{
    MPI_Status status;
    DO(Wait, request, &status);
    arrived("MPI_Irecv", comm, from, BYTES);
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == TAG && good(salt));
}

#define SENDS(Name, iName)                                                                 \
    do {                                                                                   \
        MPI_Request receiving, sending;                                                    \
        fill(1);                                                                           \
        post(&receiving);                                                                  \
        CALL(Name, where, BYTES, 0, out, N, MPI_INT, to, TAG, comm);                       \
        sent(comm, to, BYTES);                                                             \
        take(&receiving, 1);                                                               \
        fill(2);                                                                           \
        post(&receiving);                                                                  \
        CALL(iName, where, BYTES, 0, out, N, MPI_INT, to, TAG, comm, &sending);            \
        sent(comm, to, BYTES);                                                             \
        take(&receiving, 2);                                                               \
        wait_for(&sending);                                                                \
        CALL(Name, where, 0, 0, out, N, MPI_INT, MPI_PROC_NULL, TAG, comm);                \
        CALL(iName, where, 0, 0, out, N, MPI_INT, MPI_PROC_NULL, TAG, comm, &sending);     \
        wait_for(&sending);                                                                \
    } while (0)

#define PERSISTENT(Init)                                                                   \
    do {                                                                                   \
        MPI_Request receiving, sending;                                                    \
        CALL(Init, where, 0, 0, out, N, MPI_INT, to, TAG, comm, &sending);                 \
        for (int i = 0; i < 3; i++) {                                                      \
            fill(i);                                                                       \
            post(&receiving);                                                              \
            DO(Start, &sending);                                                           \
            moved("MPI_Start", where, BYTES, 0);                                           \
            sent(comm, to, BYTES);                                                         \
            take(&receiving, i);                                                           \
            DO(Wait, &sending, MPI_STATUS_IGNORE);                                         \
            DO(Wait, &sending, MPI_STATUS_IGNORE); /* inactive: nothing happens */         \
        }                                                                                  \
        DO(Request_free, &sending);                                                        \
        CALL(Init, where, 0, 0, out, N, MPI_INT, MPI_PROC_NULL, TAG, comm, &sending);      \
        DO(Start, &sending);                                                               \
        DO(Wait, &sending, MPI_STATUS_IGNORE);                                             \
        DO(Request_free, &sending);                                                        \
    } while (0)

static void modes(void)
{
    SENDS(Send, Isend);
    SENDS(Bsend, Ibsend);
    SENDS(Ssend, Issend);
    SENDS(Rsend, Irsend);
    PERSISTENT(Send_init);
    PERSISTENT(Bsend_init);
    PERSISTENT(Ssend_init);
    PERSISTENT(Rsend_init);
    COUNTS(SENDS(Send_c, Isend_c);
         SENDS(Bsend_c, Ibsend_c);
         SENDS(Ssend_c, Issend_c);
         SENDS(Rsend_c, Irsend_c);
         PERSISTENT(Send_init_c);
         PERSISTENT(Bsend_init_c);
         PERSISTENT(Ssend_init_c);
         PERSISTENT(Rsend_init_c);)
#ifdef MOCK_MPI_H
    SENDS(Send_c, Isend_c);
#endif
}

static void send_one(MPI_Request *sending)
{
    CALL(Isend, where, BYTES, 0, out, N, MPI_INT, to, TAG, comm, sending);
    sent(comm, to, BYTES);
}

#define RECEIVES(Recv, Irecv, Recv_init)                                                                \
    do {                                                                                                \
        MPI_Request sending, receiving;                                                                 \
        MPI_Status status;                                                                              \
        fill(3);                                                                          \
        send_one(&sending);                                                                          \
        CALL(Recv, where, 0, BYTES, in, N, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE);                \
        messages("MPI_" #Recv, 1);                                                                      \
        received(comm, from, BYTES);                                                                    \
        CHECK(good(3));                                                                                 \
        wait_for(&sending);                                                                             \
        fill(4);                                                                          \
        send_one(&sending);                                                                          \
        CALL(Recv, where, 0, BYTES, in, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);        \
        messages("MPI_" #Recv, 1);                                                                      \
        received(comm, from, BYTES);                                                                    \
        CHECK(good(4) && status.MPI_SOURCE == from && status.MPI_TAG == TAG);                           \
        wait_for(&sending);                                                                             \
        CALL(Recv, where, 0, 0, in, N, MPI_INT, MPI_PROC_NULL, TAG, comm, &status);                     \
        messages("MPI_" #Recv, 1); /* if from nobody */                                                 \
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL);                                                      \
        fill(5);                \
        CALL(Irecv, where, 0, 0, in, N, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &receiving);                \
        send_one(&sending);                                                                          \
        wait_for(&receiving);                                                                           \
        arrived("MPI_" #Irecv, comm, from, BYTES);                                                      \
        CHECK(good(5));                                                                                 \
        wait_for(&sending);                                                                             \
        CALL(Irecv, where, 0, 0, in, N, MPI_INT, MPI_PROC_NULL, TAG, comm, &receiving);                 \
        wait_for(&receiving);                                                                           \
        CALL(Recv_init, where, 0, 0, in, N, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &receiving);            \
        for (int i = 0; i < 3; i++) {                                                                   \
            fill(i);                                                                      \
            DO(Start, &receiving);                                                                      \
            send_one(&sending);                                                                      \
            DO(Wait, &receiving, &status);                                                              \
            arrived("MPI_Start", comm, from, BYTES);                                                    \
            CHECK(good(i) && status.MPI_SOURCE == from);                                                \
            wait_for(&sending);                                                                         \
        }                                                                                               \
        DO(Request_free, &receiving);                                                                   \
        CALL(Recv_init, where, 0, 0, in, N, MPI_INT, MPI_PROC_NULL, TAG, comm, &receiving);             \
        DO(Start, &receiving);                                                                          \
        DO(Wait, &receiving, MPI_STATUS_IGNORE);                                                        \
        DO(Request_free, &receiving);                                                                   \
    } while (0)

/* Room for more than is sent: what was received counts. */
static void short_message(void)
{
    MPI_Request sending;
    MPI_Status status;
    int room[100], count;
    fill(6);
    send_one(&sending);
    CALL(Recv, where, 0, BYTES, room, 100, MPI_INT, from, TAG, comm, &status);
    messages("MPI_Recv", 1);
    received(comm, from, BYTES);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
    wait_for(&sending);
    CALL(Irecv, where, 0, 0, room, 100, MPI_INT, from, TAG, comm, &sending);
    CALL(Send, where, 0, 0, NULL, 0, MPI_INT, to, TAG, comm); /* an empty one counts as a message */
    sent(comm, to, 0);
    wait_for(&sending);
    arrived("MPI_Irecv", comm, from, 0);
}

#define BOTH_WAYS(Sendrecv, Replace)                                                                                        \
    do {                                                                                                                    \
        MPI_Status status;                                                                                                  \
        fill(8);                                                                                                            \
        CALL(Sendrecv, where, BYTES, BYTES, out, N, MPI_INT, to, TAG, in, N, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE);  \
        messages("MPI_" #Sendrecv, 1);                                                                                      \
        sent(comm, to, BYTES);                                                                                              \
        received(comm, from, BYTES);                                                                                        \
        CHECK(good(8));                                                                                                     \
        fill(9);                                                                                                            \
        CALL(Sendrecv, where, BYTES, 0, out, N, MPI_INT, to, TAG, in, N, MPI_INT, MPI_PROC_NULL, TAG, comm, &status);       \
        sent(comm, to, BYTES);                                                                                              \
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL);                                                                          \
        CALL(Sendrecv, where, 0, BYTES, out, N, MPI_INT, MPI_PROC_NULL, TAG, in, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,   \
             comm, &status);                                                                                                \
        messages("MPI_" #Sendrecv, 1);                                                                                      \
        received(comm, from, BYTES);                                                                                        \
        CHECK(good(9) && status.MPI_SOURCE == from);                                                                        \
        fill(10);                                                                                                           \
        memcpy(in, out, sizeof in);                                                                                         \
        CALL(Replace, where, BYTES, BYTES, in, N, MPI_INT, to, TAG, from, TAG, comm, &status);                              \
        messages("MPI_" #Replace, 1);                                                                                       \
        sent(comm, to, BYTES);                                                                                              \
        received(comm, from, BYTES);                                                                                        \
        CHECK(good(10));                                                                                                    \
    } while (0)

#define BOTH_WAYS_LATER(Isendrecv, Replace)                                                                         \
    do {                                                                                                            \
        MPI_Request request;                                                                                        \
        fill(11);                                                                                                   \
        CALL(Isendrecv, where, BYTES, 0, out, N, MPI_INT, to, TAG, in, N, MPI_INT, from, TAG, comm, &request);      \
        sent(comm, to, BYTES);                                                                                      \
        wait_for(&request);                                                                                         \
        arrived("MPI_" #Isendrecv, comm, from, BYTES);                                                              \
        CHECK(good(11));                                                                                            \
        fill(12);                                                                                                   \
        memcpy(in, out, sizeof in);                                                                                 \
        CALL(Replace, where, BYTES, 0, in, N, MPI_INT, to, TAG, MPI_ANY_SOURCE, TAG, comm, &request);               \
        sent(comm, to, BYTES);                                                                                      \
        wait_for(&request);                                                                                         \
        arrived("MPI_" #Replace, comm, from, BYTES);                                                                \
        CHECK(good(12));                                                                                            \
    } while (0)

static void probes(void)
{
    MPI_Request sending;
    MPI_Status status;
    int flag, count;
    fill(13);
    send_one(&sending);
    DO_ON(Probe, comm, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == TAG && count == N);
    DO_ON(Probe, comm, from, TAG, comm, MPI_STATUS_IGNORE);
    do {
        DO_ON(Iprobe, comm, MPI_ANY_SOURCE, TAG, comm, &flag, MPI_STATUS_IGNORE);
    } while (!flag);
    hit("MPI_Iprobe");
    DO_ON(Iprobe, comm, from, TAG + 1, comm, &flag, &status);
    CHECK(!flag);
    DO_ON(Iprobe, comm, MPI_PROC_NULL, TAG, comm, &flag, &status);
    hit("MPI_Iprobe");
    CHECK(flag);
    CALL(Recv, where, 0, BYTES, in, N, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE);
    messages("MPI_Recv", 1);
    received(comm, from, BYTES);
    CHECK(good(13));
    wait_for(&sending);
}

#define MATCHED(Mrecv, Imrecv)                                                                  \
    do {                                                                                        \
        MPI_Request sending, receiving;                                                         \
        MPI_Message message;                                                                    \
        MPI_Status status;                                                                      \
        int flag;                                                                               \
        fill(14);                                                                 \
        send_one(&sending);                                                                 \
        DO_ON(Mprobe, comm, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);              \
        CHECK(status.MPI_SOURCE == from);                                                       \
        CALL(Mrecv, where, 0, BYTES, in, N, MPI_INT, &message, MPI_STATUS_IGNORE);              \
        messages("MPI_" #Mrecv, 1);                                                             \
        received(comm, from, BYTES);                                                            \
        CHECK(good(14) && message == MPI_MESSAGE_NULL);                                         \
        wait_for(&sending);                                                                     \
        DO_ON(Improbe, comm, from, TAG + 1, comm, &flag, &message, &status);                    \
        CHECK(!flag);                                                                           \
        fill(15);                                                                 \
        send_one(&sending);                                                                 \
        do {                                                                                    \
            DO_ON(Improbe, comm, from, TAG, comm, &flag, &message, MPI_STATUS_IGNORE);          \
        } while (!flag);                                                                        \
        hit("MPI_Improbe");                                                                     \
        CALL(Imrecv, where, 0, 0, in, N, MPI_INT, &message, &receiving);                        \
        wait_for(&receiving);                                                                   \
        arrived("MPI_" #Imrecv, comm, from, BYTES);                                             \
        CHECK(good(15));                                                                        \
        wait_for(&sending);                                                                     \
        DO_ON(Mprobe, comm, MPI_PROC_NULL, TAG, comm, &message, &status);                       \
        CHECK(message == MPI_MESSAGE_NO_PROC);                                                  \
        DO(Mrecv, in, N, MPI_INT, &message, &status); /* a message from nobody, on no communicator */ \
        messages("MPI_" #Mrecv, 1);                                                             \
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL);                                              \
    } while (0)

#ifdef HAS_MPI4
/* Four parts of two ints; bytes are counted when the operation starts, and arrive when it ends. */
static void partitioned(void)
{
    enum { PARTS = 4, EACH = 2 };
    const long long bytes = PARTS * EACH * (long long)sizeof(int);
    int data[PARTS * EACH], got_data[PARTS * EACH], flag;
    MPI_Request requests[2];
    CALL(Psend_init, where, 0, 0, data, PARTS, EACH, MPI_INT, to, TAG, comm, MPI_INFO_NULL, &requests[0]);
    CALL(Precv_init, where, 0, 0, got_data, PARTS, EACH, MPI_INT, from, TAG, comm, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < PARTS * EACH; i++)
            data[i] = rank * 100 + round * 50 + i;
        DO(Startall, 2, requests);
        moved("MPI_Startall", where, bytes, 0);
        sent(comm, to, bytes);
        DO(Pready, 2, requests[0]);
        DO(Pready_range, 0, 1, requests[0]);
        DO(Pready_list, 1, &(int){3}, requests[0]);
        do {
            DO(Parrived, requests[1], 3, &flag);
        } while (!flag);
        hit("MPI_Parrived");
        DO(Waitall, 2, requests, MPI_STATUSES_IGNORE);
        arrived("MPI_Startall", comm, from, bytes);
        for (int i = 0; i < PARTS * EACH; i++)
            CHECK(got_data[i] == from * 100 + round * 50 + i);
    }
    DO(Request_free, &requests[0]);
    DO(Request_free, &requests[1]);
}
#endif

static void everything_on(MPI_Comm one)
{
    int me, n;
    comm = one;
    where = on(comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    int world = rank;
    rank = me; /* contents are made of ranks in this communicator */
    modes();
    RECEIVES(Recv, Irecv, Recv_init);
    COUNTS(RECEIVES(Recv_c, Irecv_c, Recv_init_c);)
#ifdef MOCK_MPI_H
    RECEIVES(Recv_c, Irecv_c, Recv_init);
#endif
    short_message();
    BOTH_WAYS(Sendrecv, Sendrecv_replace);
    COUNTS(BOTH_WAYS(Sendrecv_c, Sendrecv_replace_c);)
    MPI4(BOTH_WAYS_LATER(Isendrecv, Isendrecv_replace);)
    COUNTS(BOTH_WAYS_LATER(Isendrecv_c, Isendrecv_replace_c);)
    probes();
    MATCHED(Mrecv, Imrecv);
    COUNTS(MATCHED(Mrecv_c, Imrecv_c);)
    MPI4(partitioned();)
    rank = world;
}

#ifdef HAS_MPI41
/* Buffers of a communicator or a session, and what waits until they are empty. */
static void buffers(void)
{
    static char buffer[1 << 12];
    void *back;
    int bytes;
    MPI_Count wide;
    MPI_Request request;
    MPI_Session session;
#define EMPTIED(blocking, later)               \
    blocking;                                  \
    later;                                     \
    DO(Wait, &request, MPI_STATUS_IGNORE);     \
    CHECK(request == MPI_REQUEST_NULL)
    EMPTIED(DO(Buffer_flush), DO(Buffer_iflush, &request));
    DO(Comm_attach_buffer, MPI_COMM_WORLD, buffer, sizeof buffer);
    EMPTIED(DO(Comm_flush_buffer, MPI_COMM_WORLD), DO(Comm_iflush_buffer, MPI_COMM_WORLD, &request));
    DO(Comm_detach_buffer, MPI_COMM_WORLD, &back, &bytes);
    CHECK(back == buffer && bytes == sizeof buffer);
    DO(Comm_attach_buffer_c, MPI_COMM_WORLD, buffer, sizeof buffer);
    DO(Comm_detach_buffer_c, MPI_COMM_WORLD, &back, &wide);
    CHECK(back == buffer && wide == sizeof buffer);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    DO(Session_attach_buffer, session, buffer, sizeof buffer);
    EMPTIED(DO(Session_flush_buffer, session), DO(Session_iflush_buffer, session, &request));
    DO(Session_detach_buffer, session, &back, &bytes);
    CHECK(back == buffer && bytes == sizeof buffer);
    DO(Session_attach_buffer_c, session, buffer, sizeof buffer);
    DO(Session_detach_buffer_c, session, &back, &wide);
    CHECK(back == buffer && wide == sizeof buffer);
    MPI_Session_finalize(&session);
}
#endif

void point_to_point(void)
{
    static char buffer[1 << 16];
    void *back;
    int bytes;
    MPI_Comm turned;
    DO(Buffer_attach, buffer, sizeof buffer);
    everything_on(MPI_COMM_WORLD);
    /* Ranks that are not those of the world: peers must be told as ranks of the world all the same. */
    DO_ON(Comm_split, MPI_COMM_WORLD, MPI_COMM_WORLD, 0, -rank, &turned);
    name(turned, "turned");
    everything_on(turned);
    DO_ON(Comm_free, turned, &turned);
#ifdef HAS_MPI41
    buffers();
#endif
    DO(Buffer_detach, &back, &bytes);
    CHECK(back == buffer && bytes == sizeof buffer);
    COUNTS(MPI_Count wide;
         DO(Buffer_attach_c, buffer, sizeof buffer);
         DO(Buffer_detach_c, &back, &wide);
         CHECK(back == buffer && wide == sizeof buffer);)
}
