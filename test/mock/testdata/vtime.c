/* The exact virtual times of README.md, seen through mock_now. Wants the default
 * costs: latency 1000 ns, 10 bytes in a ns, eager up to 4096 bytes, tick 100 ns. */
#include <time.h>
#include <unistd.h>

#include "check.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static char buffer[200000];
static uint64_t base;

/* Brings all ranks to one time, from which `since` counts. */
static void align(void)
{
    MPI_Barrier(world);
    base = mock_now();
}

static uint64_t since(void)
{
    return mock_now() - base;
}

#define AT(ns) CHECK_EQUAL(since(), ns)

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void nothing_costs(void)
{
    MPI_Comm c;
    MPI_Group g;
    MPI_Datatype t;
    int x;
    align();
    MPI_Comm_rank(world, &x);
    MPI_Comm_group(world, &g);
    MPI_Group_free(&g);
    MPI_Type_contiguous(3, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Type_free(&t);
    MPI_Send(buffer, 100000, MPI_CHAR, MPI_PROC_NULL, 0, world);
    MPI_Recv(buffer, 100000, MPI_CHAR, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Comm_set_name(world, "all");
    AT(0);
    MPI_Comm_dup(world, &c);
    AT(1000);
    MPI_Comm_free(&c);
    AT(1000);
}

static void own_time(void)
{
    struct timespec t = {1, 500};
    align();
    mock_compute(7);
    AT(7);
    nanosleep(&t, NULL);
    AT(1000000507);
    usleep(3);
    AT(1000003507);
    sleep(2);
    AT(3000003507);
    t.tv_sec = 0;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    AT(3000004007);
    CHECK(MPI_Wtime() == (double)mock_now() / 1e9);
    CHECK_EQUAL(marple_clock_external(), mock_now());
}

static void ticks(void)
{
    int flag, index;
    MPI_Status s;
    MPI_Request r = MPI_REQUEST_NULL, q;
    align();
    MPI_Test(&r, &flag, &s);
    AT(100);
    MPI_Testall(1, &r, &flag, &s);
    AT(200);
    MPI_Irecv(buffer, 1, MPI_CHAR, rank, 0, world, &r);
    MPI_Test(&r, &flag, &s);
    CHECK(!flag);
    AT(300);
    MPI_Isend(buffer, 1, MPI_CHAR, rank, 0, world, &q);
    MPI_Test(&q, &flag, &s);
    AT(400);
    MPI_Request_get_status(r, &flag, &s);
    AT(500);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &flag, &s);
    AT(600);
    for (index = 0, flag = 0; !flag; index++)
        MPI_Testany(1, &r, &(int){0}, &flag, &s);
    AT(1400);
    CHECK_EQUAL(index, 8);
    MPI_Iprobe(MPI_PROC_NULL, 1, world, &flag, &s);
    AT(1500);
}

static void messages(void)
{
    MPI_Request r, q[2];
    MPI_Status s;
    int index;

    align();
    if (rank == 0) {
        mock_compute(50);
        MPI_Send(buffer, 4000, MPI_CHAR, 1, 0, world);
        AT(50);
        MPI_Send(buffer, 0, MPI_CHAR, 1, 0, world);
        AT(50);
    } else if (rank == 1) {
        MPI_Recv(buffer, 4000, MPI_CHAR, 0, 0, world, &s);
        AT(1450);
        MPI_Recv(buffer, 0, MPI_CHAR, 0, 0, world, &s);
        AT(1450);
    }

    align();
    if (rank == 0) {
        MPI_Send(buffer, 10000, MPI_CHAR, 1, 0, world);
        AT(2500);
        MPI_Ssend(buffer, 10, MPI_CHAR, 1, 0, world);
        AT(3501);
        MPI_Isend(buffer, 10000, MPI_CHAR, 1, 0, world, &r);
        AT(3501);
        mock_compute(99);
        MPI_Wait(&r, &s);
        AT(8000);
    } else if (rank == 1) {
        mock_compute(500);
        MPI_Recv(buffer, 10000, MPI_CHAR, 0, 0, world, &s);
        AT(2500);
        MPI_Recv(buffer, 10, MPI_CHAR, 0, 0, world, &s);
        AT(3501);
        mock_compute(2499);
        MPI_Irecv(buffer, 10000, MPI_CHAR, 0, 0, world, &r);
        AT(6000);
        mock_compute(5000);
        MPI_Wait(&r, &s);
        AT(11000);
    }

    align();
    if (rank == 0) {
        mock_compute(300);
        MPI_Bsend(buffer, 20000, MPI_CHAR, 1, 1, world);
        AT(300);
        MPI_Rsend(buffer, 5000, MPI_CHAR, 1, 2, world);
        AT(300);
    } else if (rank == 1) {
        MPI_Irecv(buffer, 20000, MPI_CHAR, 0, 1, world, &q[0]);
        MPI_Irecv(buffer, 20000, MPI_CHAR, 0, 2, world, &q[1]);
        MPI_Waitany(2, q, &index, &s);
        CHECK_EQUAL(index, 0);
        AT(3300);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        AT(3300);
    }

    align();
    if (rank < 2) {
        mock_compute(rank ? 20 : 80);
        MPI_Sendrecv(buffer, 100, MPI_CHAR, 1 - rank, 0, buffer, 100, MPI_CHAR, 1 - rank, 0,
                     world, &s);
        AT(rank ? 1090 : 1030);
        MPI_Sendrecv(buffer, 10000, MPI_CHAR, 1 - rank, 0, buffer, 10000, MPI_CHAR, 1 - rank, 0,
                     world, &s);
        AT(3090);
    }

    align();
    if (rank == 0) {
        mock_compute(200);
        MPI_Ssend(buffer, 1000, MPI_CHAR, 1, 0, world);
        AT(2350);
    } else if (rank == 1) {
        MPI_Probe(0, MPI_ANY_TAG, world, &s);
        AT(1200);
        mock_compute(50);
        MPI_Recv(buffer, 1000, MPI_CHAR, 0, 0, world, &s);
        AT(2350);
    }
}

/* Everyone sends to rank 0 at its own time; it takes them as they come. */
static void wildcards(void)
{
    MPI_Status s;
    align();
    if (rank == 0) {
        for (int i = size - 1; i > 0; i--) {
            MPI_Recv(buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &s);
            CHECK_EQUAL(s.MPI_SOURCE, i);
            AT((uint64_t)(2000 - 10 * i));
        }
    } else {
        mock_compute((uint64_t)(1000 - 10 * rank));
        MPI_Send(buffer, 1, MPI_CHAR, 0, rank, world);
    }
    align();
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            MPI_Recv(buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &s);
            CHECK_EQUAL(s.MPI_SOURCE, i);
            AT(1000);
        }
    } else {
        MPI_Send(buffer, 1, MPI_CHAR, 0, rank, world);
    }
}

static void collectives(void)
{
    uint64_t mine = (uint64_t)(100 * rank), last = (uint64_t)(100 * (size - 1)), n = (uint64_t)size;
    int root = size - 1;
    static char other[sizeof buffer];
    int counts[64], displs[64];

#define TIMED(call, want)    \
    do {                     \
        align();             \
        mock_compute(mine);  \
        call;                \
        AT(want);            \
    } while (0)

    TIMED(MPI_Barrier(world), last + 1000);
    TIMED(MPI_Allreduce(buffer, other, 500, MPI_INT8_T, MPI_SUM, world), last + 1050);
    TIMED(MPI_Allgather(buffer, 70, MPI_CHAR, other, 70, MPI_CHAR, world), last + 1007);
    TIMED(MPI_Alltoall(buffer, 300, MPI_CHAR, other, 300, MPI_CHAR, world), last + 1000 + 30 * n);
    for (int i = 0; i < size; i++) {
        counts[i] = 100 * i;
        displs[i] = 0;
    }
    TIMED(MPI_Allgatherv(buffer, 100 * rank, MPI_CHAR, other, counts, displs, MPI_CHAR, world),
          last + 1000 + 10 * (n - 1));
    TIMED(MPI_Reduce_scatter(buffer, other, counts, MPI_INT8_T, MPI_SUM, world),
          last + 1000 + 10 * (n * (n - 1) / 2));
    TIMED(MPI_Reduce_scatter_block(buffer, other, 50, MPI_INT8_T, MPI_SUM, world),
          last + 1000 + 5 * n);

    uint64_t from_root = last + 1000;
    TIMED(MPI_Bcast(buffer, 300, MPI_CHAR, root, world), rank == root ? last : from_root + 30);
    TIMED(MPI_Scatter(buffer, 300, MPI_CHAR, other, 300, MPI_CHAR, root, world),
          rank == root ? last : from_root + 30);
    TIMED(MPI_Scatterv(buffer, counts, displs, MPI_CHAR, other, 100 * rank, MPI_CHAR, root, world),
          rank == root ? last : from_root + 10 * (uint64_t)rank);
    TIMED(MPI_Bcast(buffer, 300, MPI_CHAR, 0, world), rank ? larger(mine, 1030) : 0);

    uint64_t to_root = size > 1 ? last + 1000 : 0;
    TIMED(MPI_Reduce(buffer, other, 200, MPI_INT8_T, MPI_SUM, 0, world),
          rank ? mine : to_root + (size > 1 ? 20 : 0));
    TIMED(MPI_Gather(buffer, 200, MPI_CHAR, other, 200, MPI_CHAR, 0, world),
          rank ? mine : to_root + (size > 1 ? 20 : 0));
    TIMED(MPI_Gatherv(buffer, 100 * rank, MPI_CHAR, other, counts, displs, MPI_CHAR, 0, world),
          rank ? mine : to_root + (size > 1 ? 10 * (n - 1) : 0));

    uint64_t before = rank ? mine - 100 + 1000 + 40 : 0;
    TIMED(MPI_Scan(buffer, other, 400, MPI_INT8_T, MPI_SUM, world), larger(mine, before));
    TIMED(MPI_Exscan(buffer, other, 400, MPI_INT8_T, MPI_SUM, world), larger(mine, before));

    MPI_Request r, q;
    align();
    mock_compute(mine);
    MPI_Iallreduce(buffer, other, 500, MPI_INT8_T, MPI_SUM, world, &r);
    MPI_Ibcast(buffer, 10, MPI_CHAR, 0, world, &q);
    AT(mine);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    AT(rank ? larger(mine, 1001) : 0);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    AT(last + 1050);
    mock_compute(1);
    MPI_Barrier(MPI_COMM_SELF);
    AT(last + 2051);
}

static void communicators(void)
{
    uint64_t mine = (uint64_t)(100 * rank), last = (uint64_t)(100 * (size - 1));
    MPI_Comm half, quarter, grid;
    MPI_Request r;
    align();
    mock_compute(mine);
    MPI_Comm_split(world, rank % 2, 0, &half);
    AT(last + 1000);
    MPI_Comm_split(half, 0, 0, &quarter);
    AT(last + 2000);
    int n;
    MPI_Comm_size(quarter, &n);

    /* One half does not wait for the other, nor for the world's barrier. */
    align();
    MPI_Ibarrier(world, &r);
    mock_compute(mine);
    MPI_Barrier(quarter);
    AT((uint64_t)(100 * (rank % 2 + 2 * (n - 1)) + 1000));
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_free(&quarter);

    align();
    MPI_Comm_idup(half, &quarter, &r);
    AT(0);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    AT(1000);
    MPI_Cart_create(quarter, 1, &n, &n, 0, &grid);
    AT(2000);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&quarter);
    MPI_Comm_free(&half);
}

static void windows(void)
{
    char *memory;
    MPI_Win win;
    align();
    MPI_Win_allocate(1000, 1, MPI_INFO_NULL, world, &memory, &win);
    AT(1000);
    MPI_Win_fence(0, win);
    AT(2000);
    if (rank == 0) {
        MPI_Put(buffer, 400, MPI_CHAR, size - 1, 0, 400, MPI_CHAR, win);
        MPI_Accumulate(buffer, 300, MPI_INT8_T, size - 1, 0, 300, MPI_INT8_T, MPI_SUM, win);
        MPI_Get(buffer, 1000, MPI_CHAR, size - 1, 0, 1000, MPI_CHAR, win);
    }
    AT(2000);
    MPI_Win_fence(0, win);
    AT(3070);
    MPI_Win_free(&win);
    AT(4070);
}

int main(int argc, char **argv)
{
    mock_compute(1000);
    usleep(1000);
    CHECK_EQUAL(marple_clock_external(), 0);
    start(&argc, &argv);
    CHECK_EQUAL(mock_now(), 0);
    nothing_costs();
    own_time();
    ticks();
    if (size > 1)
        messages();
    wildcards();
    collectives();
    communicators();
    windows();
    align();
    mock_compute((uint64_t)(10 * rank));
    MPI_Finalize();
    AT((uint64_t)(10 * (size - 1) + 1000));
    CHECK_EQUAL(marple_clock_external(), mock_now());
    mock_compute(5);
    AT((uint64_t)(10 * (size - 1) + 1005));
    return 0;
}
