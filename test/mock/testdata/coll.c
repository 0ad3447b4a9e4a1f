/* Data of every collective, blocking, non-blocking and in place, at every root,
 * on the world and on its halves. */
#include "check.h"

static MPI_Comm comm;
static int me, n;

/* Runs the blocking form, or the non-blocking one and waits. */
static bool nonblocking;
#define RUN(name, iname, ...)                        \
    do {                                             \
        MPI_Request request_;                        \
        if (nonblocking) {                           \
            MPI_##iname(__VA_ARGS__, &request_);     \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);  \
        } else {                                     \
            MPI_##name(__VA_ARGS__);                 \
        }                                            \
    } while (0)

static int *ints(int count, int value)
{
    int *p = malloc((size_t)(count ? count : 1) * sizeof *p);
    for (int i = 0; i < count; i++)
        p[i] = value;
    return p;
}

static void bcast(int root)
{
    for (int count = 0; count < 4000; count = 5 * count + 1) {
        int *x = ints(count, me == root ? 7 + root : -1);
        RUN(Bcast, Ibcast, x, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i++)
            CHECK_EQUAL(x[i], 7 + root);
        free(x);
    }
    int y = me;
    MPI_Bcast_c(&y, 1, MPI_INT, root, comm);
    CHECK_EQUAL(y, root);
}

static void gather(int root)
{
    int mine[2] = {me, -me}, *all = ints(2 * n, 99);
    RUN(Gather, Igather, mine, 2, MPI_INT, all, 2, MPI_INT, root, comm);
    for (int i = 0; i < n; i++)
        CHECK(me == root ? all[2 * i] == i && all[2 * i + 1] == -i : all[2 * i] == 99);
    if (me == root) {
        all[2 * me] = 1000;
        RUN(Gather, Igather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, root, comm);
        CHECK_EQUAL(all[2 * me], 1000);
    } else {
        RUN(Gather, Igather, mine, 2, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    }
    free(all);

    /* Member i gives i values; they end up in reverse order, with gaps. */
    int *values = ints(n, me), *out = ints(n * n + n, -1), *counts = ints(n, 0),
        *displs = ints(n, 0);
    for (int i = 0; i < n; i++) {
        counts[i] = i;
        displs[i] = (n - 1 - i) * n;
    }
    RUN(Gatherv, Igatherv, values, me, MPI_INT, out, counts, displs, MPI_INT, root, comm);
    for (int i = 0; i < n && me == root; i++)
        for (int k = 0; k < n; k++)
            CHECK_EQUAL(out[displs[i] + k], k < i ? i : -1);
    free(values), free(out), free(counts), free(displs);
}

static void scatter(int root)
{
    int *all = ints(2 * n, 0), mine[2] = {-1, -1};
    for (int i = 0; i < 2 * n; i++)
        all[i] = 10 * root + i;
    RUN(Scatter, Iscatter, all, 2, MPI_INT, mine, 2, MPI_INT, root, comm);
    CHECK(mine[0] == 10 * root + 2 * me && mine[1] == mine[0] + 1);
    mine[0] = -1;
    if (me == root)
        RUN(Scatter, Iscatter, all, 2, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
    else
        RUN(Scatter, Iscatter, NULL, 0, MPI_DATATYPE_NULL, mine, 2, MPI_INT, root, comm);
    CHECK_EQUAL(mine[0], me == root ? -1 : 10 * root + 2 * me);

    int *counts = ints(n, 0), *displs = ints(n, 0), *got = ints(n, -1);
    for (int i = 0; i < n; i++) {
        counts[i] = i;
        displs[i] = 1;
    }
    RUN(Scatterv, Iscatterv, all, counts, displs, MPI_INT, got, me, MPI_INT, root, comm);
    for (int k = 0; k < n; k++)
        CHECK_EQUAL(got[k], k < me ? 10 * root + 1 + k : -1);
    free(all), free(counts), free(displs), free(got);
}

static void allgather(void)
{
    int *all = ints(n, -1);
    RUN(Allgather, Iallgather, &me, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(all[i], i);
    all[me] = 100 + me;
    RUN(Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(all[i], 100 + i);
    free(all);

    int *counts = ints(n, 0), *displs = ints(n, 0), *out = ints(n * n, -1), *mine = ints(n, me);
    for (int i = 0; i < n; i++) {
        counts[i] = n - i;
        displs[i] = i * n;
    }
    RUN(Allgatherv, Iallgatherv, mine, n - me, MPI_INT, out, counts, displs, MPI_INT, comm);
    for (int i = 0; i < n * n; i++)
        CHECK_EQUAL(out[i], i % n < n - i / n ? i / n : -1);
    free(counts), free(displs), free(out), free(mine);
}

static void alltoall(void)
{
    int *out = ints(n, 0), *in = ints(n, -1);
    for (int i = 0; i < n; i++)
        out[i] = 100 * me + i;
    RUN(Alltoall, Ialltoall, out, 1, MPI_INT, in, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(in[i], 100 * i + me);
    RUN(Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(in[i], out[i]);
    free(out), free(in);

    /* Member i sends i + j values to member j, all from one place. */
    int *values = ints(2 * n, me), *got = ints(2 * n * n, -1);
    int *sendcounts = ints(n, 0), *displs = ints(n, 0), *zeros = ints(n, 0);
    MPI_Datatype *types = malloc((size_t)n * sizeof *types);
    for (int i = 0; i < n; i++) {
        sendcounts[i] = me + i;
        displs[i] = 2 * n * i;
        types[i] = MPI_INT;
    }
    RUN(Alltoallv, Ialltoallv, values, sendcounts, zeros, MPI_INT, got, sendcounts, displs,
        MPI_INT, comm);
    for (int i = 0; i < 2 * n * n; i++)
        CHECK_EQUAL(got[i], i % (2 * n) < me + i / (2 * n) ? i / (2 * n) : -1);

    for (int i = 0; i < 2 * n * n; i++)
        got[i] = -1;
    for (int i = 0; i < n; i++)
        displs[i] *= (int)sizeof(int);
    RUN(Alltoallw, Ialltoallw, values, sendcounts, zeros, types, got, sendcounts, displs, types,
        comm);
    for (int i = 0; i < 2 * n * n; i++)
        CHECK_EQUAL(got[i], i % (2 * n) < me + i / (2 * n) ? i / (2 * n) : -1);
    free(values), free(got), free(sendcounts), free(displs), free(zeros), free(types);
}

static void reductions(int root)
{
    int in[2] = {me + 1, 2}, out[2] = {-1, -1}, sum = n * (n + 1) / 2;
    RUN(Reduce, Ireduce, in, out, 2, MPI_INT, MPI_SUM, root, comm);
    CHECK(me == root ? out[0] == sum && out[1] == 2 * n : out[0] == -1);
    int place[2] = {me + 1, 2};
    if (me == root)
        RUN(Reduce, Ireduce, MPI_IN_PLACE, place, 2, MPI_INT, MPI_SUM, root, comm);
    else
        RUN(Reduce, Ireduce, place, NULL, 2, MPI_INT, MPI_SUM, root, comm);
    CHECK_EQUAL(place[0], me == root ? sum : me + 1);

    RUN(Allreduce, Iallreduce, in, out, 2, MPI_INT, MPI_SUM, comm);
    CHECK(out[0] == sum && out[1] == 2 * n);
    int again[2] = {me + 1, 2};
    RUN(Allreduce, Iallreduce, MPI_IN_PLACE, again, 2, MPI_INT, MPI_SUM, comm);
    CHECK(again[0] == sum && again[1] == 2 * n);
    MPI_Allreduce_c(&me, out, 1, MPI_INT, MPI_MAX, comm);
    CHECK_EQUAL(out[0], n - 1);

    RUN(Scan, Iscan, in, out, 2, MPI_INT, MPI_SUM, comm);
    CHECK(out[0] == (me + 1) * (me + 2) / 2 && out[1] == 2 * (me + 1));
    int scan = me + 1;
    RUN(Scan, Iscan, MPI_IN_PLACE, &scan, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQUAL(scan, out[0]);
    out[0] = -1;
    RUN(Exscan, Iexscan, in, out, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQUAL(out[0], me ? me * (me + 1) / 2 : -1);
    scan = me + 1;
    RUN(Exscan, Iexscan, MPI_IN_PLACE, &scan, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQUAL(scan, me ? me * (me + 1) / 2 : me + 1);
}

static void reduce_scatters(void)
{
    int *in = ints(n * n, 0), *out = ints(n * n, -1), *counts = ints(n, 0);
    for (int i = 0; i < n * n; i++)
        in[i] = i + me;
    RUN(Reduce_scatter_block, Ireduce_scatter_block, in, out, n, MPI_INT, MPI_SUM, comm);
    for (int k = 0; k < n; k++)
        CHECK_EQUAL(out[k], n * (me * n + k) + n * (n - 1) / 2);
    int first = 0;
    for (int i = 0; i < n; i++)
        counts[i] = i % 3;
    for (int i = 0; i < me; i++)
        first += counts[i];
    RUN(Reduce_scatter, Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM, comm);
    for (int k = 0; k < counts[me]; k++)
        CHECK_EQUAL(out[k], n * (first + k) + n * (n - 1) / 2);
    RUN(Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, comm);
    for (int k = 0; k < counts[me]; k++)
        CHECK_EQUAL(in[k], n * (first + k) + n * (n - 1) / 2);
    free(in), free(out), free(counts);
}

/* Several collectives in flight, completed in another order. */
static void overlapping(void)
{
    int a = me, b = 0, c = me == 0 ? 5 : 0, sum, max;
    MPI_Request r[4];
    MPI_Iallreduce(&a, &sum, 1, MPI_INT, MPI_SUM, comm, &r[0]);
    MPI_Ibarrier(comm, &r[1]);
    MPI_Ibcast(&c, 1, MPI_INT, 0, comm, &r[2]);
    MPI_Iallreduce(&a, &max, 1, MPI_INT, MPI_MAX, comm, &r[3]);
    MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_MIN, comm);
    for (int i = 3; i >= 0; i--)
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    CHECK(sum == n * (n - 1) / 2 && b == 0 && c == 5 && max == n - 1);
}

static void all(MPI_Comm which)
{
    comm = which;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int pass = 0; pass < 2; pass++) {
        nonblocking = pass;
        RUN(Barrier, Ibarrier, comm);
        for (int root = 0; root < n; root++) {
            bcast(root);
            gather(root);
            scatter(root);
            reductions(root);
        }
        allgather();
        alltoall();
        reduce_scatters();
        overlapping();
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    all(MPI_COMM_WORLD);
    all(MPI_COMM_SELF);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    all(half);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
