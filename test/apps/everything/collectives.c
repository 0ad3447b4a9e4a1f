/*
 * Every collective in every form: blocking, non-blocking, persistent, with large counts, and in place; from
 * the first and the last rank as root. Arguments that only the root may look at are wrong elsewhere.
 */
#include "expect.h"

enum { N = 3, RANKS = 16 };
#define BYTES ((long long)(N * sizeof(int)))
#define INT ((long long)sizeof(int))

static MPI_Comm comm;
static int me, n, root;
static int s[RANKS * RANKS * N], r[RANKS * RANKS * N];

/* Counts and displacements of both widths. Rank p gives or gets p + 1 ints, one behind the other. */
static int counts_n[RANKS], displs_n[RANKS], same_n[RANKS], apart_n[RANKS], byte_displs_n[RANKS];
static MPI_Count counts_w[RANKS], same_w[RANKS];
static MPI_Aint displs_w[RANKS], apart_w[RANKS], byte_displs_w[RANKS];
static MPI_Datatype types[RANKS];
static long long total; /* ints in all blocks of varying size */

/* What rank `from` sends to rank `to`. */
static int value(int from, int to, int i)
{
    return from * 10000 + to * 100 + i;
}

static int sum(int to, int i, int first, int last)
{
    int all = 0;
    for (int p = first; p <= last; p++)
        all += value(p, to, i);
    return all;
}

static void clear(void)
{
    for (int i = 0; i < RANKS * RANKS * N; i++)
        s[i] = r[i] = -1;
}

/* s holds a block of N for every rank; r nothing. */
static void blocks(void)
{
    clear();
    for (int p = 0; p < n; p++)
        for (int i = 0; i < N; i++)
            s[p * N + i] = value(me, p, i);
}

/* The same of what is sent in r, for operations in place. */
static void blocks_in_place(void)
{
    blocks();
    memcpy(r, s, sizeof r);
    memset(s, -1, sizeof s);
}

/* One block of N for everybody at place `at` of r. */
static void own_in_place(int at, int count)
{
    clear();
    for (int i = 0; i < count; i++)
        r[at + i] = value(me, 0, i);
}

static bool one_of_each(const int *at) /* from all ranks what they sent to `to` */
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i < N; i++)
            if (at[p * N + i] != value(p, me, i))
                return false;
    return true;
}

static bool gathered(void)
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i < N; i++)
            if (r[p * N + i] != value(p, 0, i))
                return false;
    return true;
}

static bool gathered_varying(void)
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i <= p; i++)
            if (r[displs_n[p] + i] != value(p, 0, i))
                return false;
    return true;
}

static bool block_is(const int *at, int count, int from, int to)
{
    for (int i = 0; i < count; i++)
        if (at[i] != value(from, to, i))
            return false;
    return true;
}

static bool reduced(const int *at, int count, int to, int first, int last)
{
    for (int i = 0; i < count; i++)
        if (at[i] != sum(to, i, first, last))
            return false;
    return true;
}

/* Arrays under the names that the calls below use. */
#define NARROW                                                                                         \
    int *counts = counts_n, *displs = displs_n, *same = same_n, *apart = apart_n, *byte_displs = byte_displs_n; \
    (void)counts, (void)displs, (void)same, (void)apart, (void)byte_displs
#define WIDE                                                                             \
    MPI_Count *counts = counts_w, *same = same_w;                                        \
    MPI_Aint *displs = displs_w, *apart = apart_w, *byte_displs = byte_displs_w;         \
    (void)counts, (void)displs, (void)same, (void)apart, (void)byte_displs

#define BLOCKING(Name, prepare, good, out, in, ...)         \
    prepare;                                                \
    CALL(Name, on(comm), out, in, __VA_ARGS__, comm);       \
    CHECK(good)
#define LATER(Name, prepare, good, out, in, ...)                    \
    prepare;                                                        \
    CALL(Name, on(comm), out, in, __VA_ARGS__, comm, &request);     \
    DO(Wait, &request, MPI_STATUS_IGNORE);                          \
    CHECK(good)
/* MPICH, 4.2 at least, copies some data when a persistent collective is made, and fails to start some again. */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40300000
#define STARTS 1
#else
#define STARTS 2
#endif
#define AGAIN(Name, prepare, good, out, in, ...)                                   \
    prepare;                                                                       \
    CALL(Name, on(comm), 0, 0, __VA_ARGS__, comm, MPI_INFO_NULL, &request);        \
    for (int round = 0; round < STARTS; round++) {                                 \
        if (round)                                                                 \
            prepare;                                                               \
        DO(Start, &request);                                                       \
        moved("MPI_Start", on(comm), out, in);                                     \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                     \
        CHECK(good);                                                               \
    }                                                                              \
    DO(Request_free, &request)

/* All forms of one collective; bytes are given first, then the arguments up to the communicator. */
#define COLLECTIVE(Name, iName, prepare, good, out, in, ...)                       \
    do {                                                                           \
        MPI_Request request;                                                       \
        {                                                                          \
            NARROW;                                                                \
            BLOCKING(Name, prepare, good, out, in, __VA_ARGS__);                   \
            LATER(iName, prepare, good, out, in, __VA_ARGS__);                     \
            MPI4(AGAIN(Name##_init, prepare, good, out, in, __VA_ARGS__);)         \
        }                                                                          \
        COUNTS(WIDE;                                                                 \
             BLOCKING(Name##_c, prepare, good, out, in, __VA_ARGS__);              \
             LATER(iName##_c, prepare, good, out, in, __VA_ARGS__);                \
             AGAIN(Name##_init_c, prepare, good, out, in, __VA_ARGS__);)           \
    } while (0)

#define AT_ROOT(a, b) (me == root ? (a) : (b))

static void rooted(void)
{
    COLLECTIVE(Bcast, Ibcast, (clear(), AT_ROOT(own_in_place(0, N), (void)0)), block_is(r, N, root, 0),
               AT_ROOT(BYTES, 0), AT_ROOT(0, BYTES), r, N, MPI_INT, root);

    COLLECTIVE(Gather, Igather, (own_in_place(0, N), memcpy(s, r, sizeof s)), me != root || gathered(),
               BYTES, AT_ROOT(BYTES * n, 0), s, N, MPI_INT, r, AT_ROOT(N, 0), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), root);
    COLLECTIVE(Gather, Igather, (own_in_place(AT_ROOT(me * N, 0), N), memcpy(s, r, sizeof s)), me != root || gathered(),
               BYTES, AT_ROOT(BYTES * n, 0), AT_ROOT(MPI_IN_PLACE, s), AT_ROOT(0, N), AT_ROOT(MPI_DATATYPE_NULL, MPI_INT),
               r, AT_ROOT(N, 0), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), root);

    COLLECTIVE(Gatherv, Igatherv, (own_in_place(0, me + 1), memcpy(s, r, sizeof s)), me != root || gathered_varying(),
               INT * (me + 1), AT_ROOT(INT * total, 0), s, me + 1, MPI_INT, r, AT_ROOT(counts, NULL), AT_ROOT(displs, NULL),
               AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), root);
    COLLECTIVE(Gatherv, Igatherv, (own_in_place(AT_ROOT(displs_n[me], 0), me + 1), memcpy(s, r, sizeof s)),
               me != root || gathered_varying(), INT * (me + 1), AT_ROOT(INT * total, 0), AT_ROOT(MPI_IN_PLACE, s), me + 1,
               MPI_INT, r, AT_ROOT(counts, NULL), AT_ROOT(displs, NULL), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), root);

    COLLECTIVE(Scatter, Iscatter, blocks(), block_is(r, N, root, me), AT_ROOT(BYTES * n, 0), BYTES,
               s, AT_ROOT(N, 0), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), r, N, MPI_INT, root);
    COLLECTIVE(Scatter, Iscatter, blocks(), me == root || block_is(r, N, root, me), AT_ROOT(BYTES * n, 0), BYTES,
               s, AT_ROOT(N, 0), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), AT_ROOT(MPI_IN_PLACE, r), AT_ROOT(0, N),
               AT_ROOT(MPI_DATATYPE_NULL, MPI_INT), root);

    /* Overlapping blocks: everybody gets the beginning of what the root has. */
    COLLECTIVE(Scatterv, Iscatterv, (own_in_place(0, n), memcpy(s, r, sizeof s), memset(r, -1, sizeof r)),
               block_is(r, me + 1, root, 0), AT_ROOT(INT * total, 0), INT * (me + 1), s, AT_ROOT(counts, NULL),
               AT_ROOT(apart, NULL), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), r, me + 1, MPI_INT, root);
    COLLECTIVE(Scatterv, Iscatterv, (own_in_place(0, n), memcpy(s, r, sizeof s), memset(r, -1, sizeof r)),
               me == root || block_is(r, me + 1, root, 0), AT_ROOT(INT * total, 0), INT * (me + 1), s, AT_ROOT(counts, NULL),
               AT_ROOT(apart, NULL), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), AT_ROOT(MPI_IN_PLACE, r), me + 1, MPI_INT, root);

    COLLECTIVE(Reduce, Ireduce, (own_in_place(0, N), memcpy(s, r, sizeof s), memset(r, -1, sizeof r)),
               me != root || reduced(r, N, 0, 0, n - 1), BYTES, AT_ROOT(BYTES, 0), s, AT_ROOT(r, NULL), N, MPI_INT, MPI_SUM, root);
    COLLECTIVE(Reduce, Ireduce, (own_in_place(0, N), memcpy(s, r, sizeof s)), me != root || reduced(r, N, 0, 0, n - 1), BYTES,
               AT_ROOT(BYTES, 0), AT_ROOT(MPI_IN_PLACE, s), AT_ROOT(r, NULL), N, MPI_INT, MPI_SUM, root);
}

static void all_to_all(void)
{
    COLLECTIVE(Allgather, Iallgather, (own_in_place(0, N), memcpy(s, r, sizeof s)), gathered(), BYTES, BYTES * n,
               s, N, MPI_INT, r, N, MPI_INT);
    COLLECTIVE(Allgather, Iallgather, own_in_place(me * N, N), gathered(), BYTES, BYTES * n,
               MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, N, MPI_INT);
    COLLECTIVE(Allgatherv, Iallgatherv, (own_in_place(0, me + 1), memcpy(s, r, sizeof s)), gathered_varying(), INT * (me + 1),
               INT * total, s, me + 1, MPI_INT, r, counts, displs, MPI_INT);
    COLLECTIVE(Allgatherv, Iallgatherv, own_in_place(displs_n[me], me + 1), gathered_varying(), INT * (me + 1), INT * total,
               MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, counts, displs, MPI_INT);
    COLLECTIVE(Alltoall, Ialltoall, blocks(), one_of_each(r), BYTES * n, BYTES * n, s, N, MPI_INT, r, N, MPI_INT);
    COLLECTIVE(Alltoall, Ialltoall, blocks_in_place(), one_of_each(r), BYTES * n, BYTES * n,
               MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, N, MPI_INT);
    COLLECTIVE(Alltoallv, Ialltoallv, blocks(), one_of_each(r), BYTES * n, BYTES * n, s, same, apart, MPI_INT, r, same, apart, MPI_INT);
    COLLECTIVE(Alltoallv, Ialltoallv, blocks_in_place(), one_of_each(r), BYTES * n, BYTES * n,
               MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, r, same, apart, MPI_INT);
    COLLECTIVE(Alltoallw, Ialltoallw, blocks(), one_of_each(r), BYTES * n, BYTES * n,
               s, same, byte_displs, types, r, same, byte_displs, types);
    COLLECTIVE(Alltoallw, Ialltoallw, blocks_in_place(), one_of_each(r), BYTES * n, BYTES * n,
               MPI_IN_PLACE, NULL, NULL, NULL, r, same, byte_displs, types);
    COLLECTIVE(Allreduce, Iallreduce, (own_in_place(0, N), memcpy(s, r, sizeof s)), reduced(r, N, 0, 0, n - 1), BYTES, BYTES,
               s, r, N, MPI_INT, MPI_SUM);
    COLLECTIVE(Allreduce, Iallreduce, own_in_place(0, N), reduced(r, N, 0, 0, n - 1), BYTES, BYTES, MPI_IN_PLACE, r, N, MPI_INT, MPI_SUM);
    COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, blocks(), reduced(r, N, me, 0, n - 1), BYTES * n, BYTES,
               s, r, N, MPI_INT, MPI_SUM);
    COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, blocks_in_place(), reduced(r, N, me, 0, n - 1), BYTES * n, BYTES,
               MPI_IN_PLACE, r, N, MPI_INT, MPI_SUM);
    /* Blocks of varying size, the i-th int of all of them together. */
    COLLECTIVE(Reduce_scatter, Ireduce_scatter, (own_in_place(0, (int)total), memcpy(s, r, sizeof s)),
               r[0] == sum(0, displs_n[me], 0, n - 1) && r[me] == sum(0, displs_n[me] + me, 0, n - 1), INT * total, INT * (me + 1),
               s, r, counts, MPI_INT, MPI_SUM);
    COLLECTIVE(Reduce_scatter, Ireduce_scatter, own_in_place(0, (int)total),
               r[0] == sum(0, displs_n[me], 0, n - 1) && r[me] == sum(0, displs_n[me] + me, 0, n - 1), INT * total, INT * (me + 1),
               MPI_IN_PLACE, r, counts, MPI_INT, MPI_SUM);
    COLLECTIVE(Scan, Iscan, (own_in_place(0, N), memcpy(s, r, sizeof s)), reduced(r, N, 0, 0, me), BYTES, BYTES, s, r, N, MPI_INT, MPI_SUM);
    COLLECTIVE(Scan, Iscan, own_in_place(0, N), reduced(r, N, 0, 0, me), BYTES, BYTES, MPI_IN_PLACE, r, N, MPI_INT, MPI_SUM);
    COLLECTIVE(Exscan, Iexscan, (own_in_place(0, N), memcpy(s, r, sizeof s)), me == 0 || reduced(r, N, 0, 0, me - 1), BYTES, BYTES,
               s, r, N, MPI_INT, MPI_SUM);
    COLLECTIVE(Exscan, Iexscan, own_in_place(0, N), me == 0 || reduced(r, N, 0, 0, me - 1), BYTES, BYTES,
               MPI_IN_PLACE, r, N, MPI_INT, MPI_SUM);
}

static void barriers(void)
{
    MPI_Request request;
    DO_ON(Barrier, comm, comm);
    DO_ON(Ibarrier, comm, comm, &request);
    DO(Wait, &request, MPI_STATUS_IGNORE);
    MPI4(DO_ON(Barrier_init, comm, comm, MPI_INFO_NULL, &request);
         for (int i = 0; i < STARTS; i++) {
             DO(Start, &request);
             DO(Wait, &request, MPI_STATUS_IGNORE);
         }
         DO(Request_free, &request);)
}

#ifdef MOCK_MPI_H
static void large_counts(void)
{
    own_in_place(0, N);
    CALL(Bcast_c, on(comm), AT_ROOT(BYTES, 0), AT_ROOT(0, BYTES), r, N, MPI_INT, root, comm);
    CHECK(block_is(r, N, root, 0));
    own_in_place(0, N);
    CALL(Allreduce_c, on(comm), BYTES, BYTES, MPI_IN_PLACE, r, N, MPI_INT, MPI_SUM, comm);
    CHECK(reduced(r, N, 0, 0, n - 1));
}
#endif

static void everything_on(MPI_Comm one)
{
    comm = one;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    total = 0;
    for (int p = 0; p < n; p++) {
        counts_n[p] = p + 1;
        counts_w[p] = p + 1;
        displs_n[p] = (int)total;
        displs_w[p] = total;
        total += p + 1;
        same_n[p] = N;
        same_w[p] = N;
        apart_n[p] = p * N;
        apart_w[p] = p * N;
        byte_displs_n[p] = p * N * (int)sizeof(int);
        byte_displs_w[p] = byte_displs_n[p];
        types[p] = MPI_INT;
    }
    barriers();
    all_to_all();
    /* Displacements of the scattered blocks: all begin at the root's first. */
    for (int p = 0; p < n; p++) {
        apart_n[p] = 0;
        apart_w[p] = 0;
    }
    root = 0;
    rooted();
    root = n - 1;
    rooted();
#ifdef MOCK_MPI_H
    large_counts();
#endif
}

void collectives(void)
{
    MPI_Comm part;
    CHECK(size <= RANKS);
    everything_on(MPI_COMM_WORLD);
    everything_on(MPI_COMM_SELF);
    /* Where ranks are not those of the world. */
    DO_ON(Comm_split, MPI_COMM_WORLD, MPI_COMM_WORLD, rank == 0, -rank, &part);
    name(part, rank == 0 ? "the first" : "the others");
    everything_on(part);
    DO_ON(Comm_free, part, &part);
}
