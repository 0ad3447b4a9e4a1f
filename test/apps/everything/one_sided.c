/* One-sided communication under every kind of synchronisation, on every kind of window. */
#include "expect.h"

enum { N = 4, ROOM = 64 };
#define INT ((long long)sizeof(int))
#define BYTES ((long long)(N * sizeof(int)))
#define WORLD MPI_COMM_WORLD

static int to, from;

/* A window's communicator must be the one it was made on: not always the world. */
static MPI_Comm comm;
#define AT on(comm)

static void fence(MPI_Win win, int *memory)
{
    int data[N] = {rank, rank + 1, rank + 2, rank + 3}, read[N];
    DO_ON(Win_fence, comm, 0, win);
    for (int i = 0; i < ROOM; i++)
        memory[i] = 1;
    DO_ON(Win_fence, comm, 0, win);
    CALL(Put, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, win);
    put(comm, to, BYTES);
    CALL(Accumulate, AT, BYTES, 0, data, N, MPI_INT, to, N, N, MPI_INT, MPI_SUM, win);
    put(comm, to, BYTES);
    CALL(Put, AT, 0, 0, data, N, MPI_INT, MPI_PROC_NULL, 0, N, MPI_INT, win);
    DO_ON(Win_fence, comm, 0, win);
    CHECK(memory[1] == from + 1 && memory[N + 1] == from + 2);
    CALL(Get, AT, 0, BYTES, read, N, MPI_INT, to, 0, N, MPI_INT, win);
    got(comm, to, BYTES);
    CALL(Get, AT, 0, 0, read, N, MPI_INT, MPI_PROC_NULL, 0, N, MPI_INT, win);
    DO_ON(Win_fence, comm, 0, win);
    CHECK(read[2] == rank + 2);
}

#ifndef MOCK_MPI_H
static void post_and_start(MPI_Win win, int *memory)
{
    int data[N] = {rank * 10, rank * 10 + 1, 0, 0}, flag = 0;
    MPI_Group group, targets, origins;
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 1, &to, &targets);
    MPI_Group_incl(group, 1, &from, &origins);
    for (int round = 0; round < 2; round++) {
        DO_ON(Win_post, comm, origins, 0, win);
        DO_ON(Win_start, comm, targets, 0, win);
        CALL(Put, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, win);
        put(comm, to, BYTES);
        DO_ON(Win_complete, comm, win);
        if (round) {
            DO_ON(Win_wait, comm, win);
        } else {
            do {
                DO_ON(Win_test, comm, win, &flag);
            } while (!flag);
        }
        CHECK(memory[1] == from * 10 + 1);
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    MPI_Group_free(&group);
}

#define REQUESTED(suffix)                                                                                                        \
    do {                                                                                                                         \
        MPI_Request request;                                                                                                     \
        CALL(Rput##suffix, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, win, &request);                                    \
        put(comm, to, BYTES);                                                                                                    \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                                                                   \
        DO_ON(Win_flush, comm, to, win);                                                                                         \
        CALL(Rget##suffix, AT, 0, BYTES, read, N, MPI_INT, to, 0, N, MPI_INT, win, &request);                                    \
        got(comm, to, BYTES);                                                                                                    \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                                                                   \
        CHECK(memcmp(read, data, sizeof data) == 0);                                                                             \
        CALL(Raccumulate##suffix, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, MPI_SUM, win, &request);                    \
        put(comm, to, BYTES);                                                                                                    \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                                                                   \
        DO_ON(Win_flush, comm, to, win);                                                                                         \
        CALL(Rget_accumulate##suffix, AT, BYTES, BYTES, data, N, MPI_INT, read, N, MPI_INT, to, 0, N, MPI_INT, MPI_SUM, win,     \
             &request);                                                                                                          \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                                                                   \
        CHECK(read[1] == 2 * data[1]);                                                                                           \
        DO_ON(Win_flush, comm, to, win);                                                                                         \
        CALL(Rput##suffix, AT, 0, 0, data, N, MPI_INT, MPI_PROC_NULL, 0, N, MPI_INT, win, &request);                             \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                                                                   \
    } while (0)

/* Nobody else touches the target's memory here. */
static void lock(MPI_Win win)
{
    int data[N] = {rank, rank + 1, rank + 2, rank + 3}, read[N] = {0}, one = 1, none = 0, before;
    DO_ON(Barrier, comm, comm);
    DO_ON(Win_lock, comm, MPI_LOCK_EXCLUSIVE, to, 0, win);
    REQUESTED();
    COUNTS(REQUESTED(_c);)
    CALL(Put, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, win);
    put(comm, to, BYTES);
    DO_ON(Win_flush_local, comm, to, win);
    DO_ON(Win_flush, comm, to, win);
    CALL(Get_accumulate, AT, BYTES, BYTES, data, N, MPI_INT, read, N, MPI_INT, to, 0, N, MPI_INT, MPI_SUM, win);
    DO_ON(Win_flush, comm, to, win);
    CHECK(read[1] == data[1]);
    /* Reads only: nothing goes out. */
    CALL(Get_accumulate, AT, 0, BYTES, NULL, 0, MPI_INT, read, N, MPI_INT, to, 0, N, MPI_INT, MPI_NO_OP, win);
    DO_ON(Win_flush, comm, to, win);
    CHECK(read[1] == 2 * data[1]);
    CALL(Fetch_and_op, AT, INT, INT, &one, &before, MPI_INT, to, 1, MPI_SUM, win);
    DO_ON(Win_flush, comm, to, win);
    CHECK(before == 2 * data[1]);
    CALL(Compare_and_swap, AT, INT, INT, &none, &before, &before, MPI_INT, to, 1, win);
    DO_ON(Win_unlock, comm, to, win);
    COUNTS(DO_ON(Win_lock, comm, MPI_LOCK_SHARED, to, 0, win);
         CALL(Put_c, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, win);
         put(comm, to, BYTES);
         DO_ON(Win_flush, comm, to, win);
         CALL(Accumulate_c, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, MPI_SUM, win);
         put(comm, to, BYTES);
         DO_ON(Win_flush, comm, to, win);
         CALL(Get_c, AT, 0, BYTES, read, N, MPI_INT, to, 0, N, MPI_INT, win);
         got(comm, to, BYTES);
         DO_ON(Win_flush, comm, to, win);
         CHECK(read[3] == 2 * data[3]);
         CALL(Get_accumulate_c, AT, BYTES, BYTES, data, N, MPI_INT, read, N, MPI_INT, to, 0, N, MPI_INT, MPI_SUM, win);
         DO_ON(Win_unlock, comm, to, win);)
    DO_ON(Win_lock_all, comm, 0, win);
    CALL(Put, AT, BYTES, 0, data, N, MPI_INT, to, 0, N, MPI_INT, win);
    put(comm, to, BYTES);
    DO_ON(Win_flush_local_all, comm, win);
    DO_ON(Win_flush_all, comm, win);
    DO_ON(Win_sync, comm, win);
    DO_ON(Win_unlock_all, comm, win);
    DO_ON(Barrier, comm, comm);
}

static void dynamic(void)
{
    MPI_Win win;
    int memory[N] = {0}, data = rank + 7;
    MPI_Aint here, there;
    DO_ON(Win_create_dynamic, comm, MPI_INFO_NULL, comm, &win);
    DO(Win_attach, win, memory, sizeof memory);
    MPI_Get_address(memory, &here);
    CALL(Sendrecv, AT, sizeof here, sizeof there, &here, 1, MPI_AINT, from, 1, &there, 1, MPI_AINT, to, 1, comm, MPI_STATUS_IGNORE);
    messages("MPI_Sendrecv", 1);
    sent(comm, from, sizeof here);
    received(comm, to, sizeof there);
    DO_ON(Win_fence, comm, 0, win);
    CALL(Put, AT, INT, 0, &data, 1, MPI_INT, to, there, 1, MPI_INT, win);
    put(comm, to, INT);
    DO_ON(Win_fence, comm, 0, win);
    CHECK(memory[0] == from + 7);
    DO(Win_detach, win, memory);
    DO_ON(Win_free, comm, &win);
}

static void shared(void)
{
    MPI_Win win;
    int *memory;
    DO_ON(Win_allocate_shared, comm, ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    fence(win, memory);
    DO_ON(Win_free, comm, &win);
    COUNTS(DO_ON(Win_allocate_shared_c, comm, ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
         fence(win, memory);
         DO_ON(Win_free, comm, &win);)
}
#endif

static void everything_on(MPI_Comm one)
{
    static int own[ROOM];
    MPI_Win win;
    int *memory, n, me, world = rank;
    comm = one;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    rank = me; /* contents are made of ranks in this communicator */
    DO_ON(Win_create, comm, own, sizeof own, sizeof(int), MPI_INFO_NULL, comm, &win);
    fence(win, own);
    MPI3(post_and_start(win, own); lock(win);)
    DO_ON(Win_free, comm, &win);
    DO_ON(Win_allocate, comm, ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    fence(win, memory);
    DO_ON(Win_free, comm, &win);
    COUNTS(DO_ON(Win_create_c, comm, own, sizeof own, sizeof(int), MPI_INFO_NULL, comm, &win);
         fence(win, own);
         DO_ON(Win_free, comm, &win);
         DO_ON(Win_allocate_c, comm, ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
         fence(win, memory);
         DO_ON(Win_free, comm, &win);)
    MPI3(dynamic(); shared();)
    rank = world;
}

void one_sided(void)
{
    MPI_Comm turned;
    void *memory;
    everything_on(MPI_COMM_WORLD);
    DO_ON(Comm_split, WORLD, WORLD, 0, -rank, &turned);
    name(turned, "turned for windows");
    everything_on(turned);
    DO_ON(Comm_free, turned, &turned);
    DO(Alloc_mem, 1000, MPI_INFO_NULL, &memory);
    memset(memory, 1, 1000);
    DO(Free_mem, memory);
}
