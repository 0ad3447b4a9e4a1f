/*
 * Rank 0 on one side, all others on the other: messages, and collectives in which data cross from group to
 * group. Rooted ones have their root on either side.
 */
#include "expect.h"

#ifdef MOCK_MPI_H /* has none */
void intercommunicators(void)
{
}
#else

enum { N = 4, RANKS = 16 };
#define BYTES ((long long)(N * sizeof(int)))
#define INT ((long long)sizeof(int))

static MPI_Comm comm;
static bool first; /* I am in the group of rank 0 */
static int n, others; /* of my group and of the other one */
static int s[RANKS * N * RANKS], r[RANKS * N * RANKS];
static int counts[RANKS], displs[RANKS], byte_displs[RANKS], local_counts[RANKS];
static MPI_Datatype types[RANKS];

/* World rank of a rank of the other group. */
static int other(int p)
{
    return first ? p + 1 : 0;
}

static void fill(void)
{
    for (int i = 0; i < RANKS * N * RANKS; i++) {
        s[i] = rank * 1000 + i % N;
        r[i] = -1;
    }
}

static bool from_all(void)
{
    for (int p = 0; p < others; p++)
        for (int i = 0; i < N; i++)
            if (r[p * N + i] != other(p) * 1000 + i)
                return false;
    return true;
}

static bool sum_of_all(int count)
{
    for (int i = 0; i < count; i++) {
        int want = 0;
        for (int p = 0; p < others; p++)
            want += other(p) * 1000 + i % N;
        if (r[i] != want)
            return false;
    }
    return true;
}

static bool from_one(int p)
{
    for (int i = 0; i < N; i++)
        if (r[i] != p * 1000 + i)
            return false;
    return true;
}

/* No persistent ones: in MPICH 4.0, the only library here that has them, they crash. */
#define COLLECTIVE(Name, iName, good, out, in, ...)                                         \
    do {                                                                                    \
        MPI_Request request;                                                                \
        fill();                                                                             \
        CALL(Name, on(comm), out, in, __VA_ARGS__, comm);                                   \
        CHECK(good);                                                                        \
        fill();                                                                             \
        CALL(iName, on(comm), out, in, __VA_ARGS__, comm, &request);                        \
        DO(Wait, &request, MPI_STATUS_IGNORE);                                              \
        CHECK(good);                                                            \
    } while (0)

/* The root is the last rank of the group; what other ranks of its group pass does not matter. */
static void rooted(bool from_first)
{
    bool root_here = first == from_first;
    int last = (from_first ? 1 : size - 1) - 1, world = from_first ? 0 : size - 1;
    bool is_root = rank == world, leaf = !root_here;
    int root = is_root ? MPI_ROOT : root_here ? MPI_PROC_NULL : last;
    COLLECTIVE(Bcast, Ibcast, !leaf || from_one(world), is_root ? BYTES : 0, leaf ? BYTES : 0, is_root ? s : r, N, MPI_INT, root);
    COLLECTIVE(Gather, Igather, !is_root || from_all(), leaf ? BYTES : 0, is_root ? BYTES * others : 0, s, N, MPI_INT, r, N, MPI_INT, root);
    COLLECTIVE(Gatherv, Igatherv, !is_root || from_all(), leaf ? BYTES : 0, is_root ? BYTES * others : 0, s, N, MPI_INT, r, counts, displs,
               MPI_INT, root);
    COLLECTIVE(Scatter, Iscatter, !leaf || from_one(world), is_root ? BYTES * others : 0, leaf ? BYTES : 0, s, N, MPI_INT, r, N, MPI_INT, root);
    COLLECTIVE(Scatterv, Iscatterv, !leaf || from_one(world), is_root ? BYTES * others : 0, leaf ? BYTES : 0, s, counts, displs, MPI_INT, r,
               N, MPI_INT, root);
    COLLECTIVE(Reduce, Ireduce, !is_root || sum_of_all(N), leaf ? BYTES : 0, is_root ? BYTES : 0, s, r, N, MPI_INT, MPI_SUM, root);
}

static void from_group_to_group(void)
{
    MPI_Request request;
    DO_ON(Barrier, comm, comm);
    DO_ON(Ibarrier, comm, comm, &request);
    DO(Wait, &request, MPI_STATUS_IGNORE);
    COLLECTIVE(Allgather, Iallgather, from_all(), BYTES, BYTES * others, s, N, MPI_INT, r, N, MPI_INT);
    COLLECTIVE(Allgatherv, Iallgatherv, from_all(), BYTES, BYTES * others, s, N, MPI_INT, r, counts, displs, MPI_INT);
    COLLECTIVE(Alltoall, Ialltoall, from_all(), BYTES * others, BYTES * others, s, N, MPI_INT, r, N, MPI_INT);
    COLLECTIVE(Alltoallv, Ialltoallv, from_all(), BYTES * others, BYTES * others, s, counts, displs, MPI_INT, r, counts, displs, MPI_INT);
    COLLECTIVE(Alltoallw, Ialltoallw, from_all(), BYTES * others, BYTES * others, s, counts, byte_displs, types, r, counts, byte_displs, types);
    COLLECTIVE(Allreduce, Iallreduce, sum_of_all(N), BYTES, BYTES, s, r, N, MPI_INT, MPI_SUM);
    /* As many ints on either side: here others·N in n equal parts, there n·N in others parts. */
    COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, sum_of_all(N), BYTES * others * n, BYTES * others, s, r, N * others, MPI_INT, MPI_SUM);
    COLLECTIVE(Reduce_scatter, Ireduce_scatter, sum_of_all(N), BYTES * others * n, BYTES * others, s, r, local_counts, MPI_INT, MPI_SUM);
}

static void pass_messages(void)
{
    int out = rank, in = -1;
    MPI_Status status;
    if (first) {
        for (int p = 0; p < others; p++) {
            CALL(Send, on(comm), INT, 0, &out, 1, MPI_INT, p, 1, comm);
            sent(comm, p, INT);
        }
        for (int p = 0; p < others; p++) {
            CALL(Recv, on(comm), 0, INT, &in, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &status);
            messages("MPI_Recv", 1);
            received(comm, status.MPI_SOURCE, INT);
            CHECK(in == other(status.MPI_SOURCE));
        }
    } else {
        CALL(Recv, on(comm), 0, INT, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
        messages("MPI_Recv", 1);
        received(comm, 0, INT);
        CHECK(in == 0);
        CALL(Send, on(comm), INT, 0, &out, 1, MPI_INT, 0, 2, comm);
        sent(comm, 0, INT);
    }
}

static void everything_on(MPI_Comm one)
{
    comm = one;
    MPI_Comm_size(comm, &n);
    MPI_Comm_remote_size(comm, &others);
    for (int p = 0; p < RANKS; p++) {
        counts[p] = N;
        displs[p] = p * N;
        byte_displs[p] = p * N * (int)sizeof(int);
        types[p] = MPI_INT;
        local_counts[p] = p < n ? N * others : 1 << 20; /* nobody may look beyond the local group */
    }
    pass_messages();
    from_group_to_group();
    rooted(true);
    rooted(false);
}

void intercommunicators(void)
{
    MPI_Comm local, inter, copy, merged;
    int flag, merged_rank, sum = 0;
    first = rank == 0;
    CHECK(size <= RANKS);
    DO_ON(Comm_split, MPI_COMM_WORLD, MPI_COMM_WORLD, first, 0, &local);
    name(local, first ? "left" : "right");
    DO_ON(Intercomm_create, local, local, 0, MPI_COMM_WORLD, first ? 1 : 0, 5, &inter);
    name(inter, "inter");
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    everything_on(inter);
    DO_ON(Comm_dup, inter, inter, &copy);
    name(copy, "copy of inter");
    pass_messages();
    comm = copy;
    pass_messages();
    DO_ON(Intercomm_merge, inter, inter, first, &merged);
    name(merged, "merged");
    MPI_Comm_rank(merged, &merged_rank);
    CHECK(merged_rank == (first ? size - 1 : rank - 1));
    CALL(Allreduce, on(merged), INT, INT, &rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK(sum == size * (size - 1) / 2);
    DO_ON(Comm_free, merged, &merged);
    DO_ON(Comm_free, copy, &copy);
    DO_ON(Comm_disconnect, inter, &inter);
    DO_ON(Comm_free, local, &local);
}
#endif
