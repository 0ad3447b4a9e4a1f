/* Completion of requests: every wait and test, cancelling, freeing, and what the
 * handles look like. */
#include "check.h"

enum { N = 6 };
static const MPI_Comm world = MPI_COMM_WORLD;
static int right, left;

static void post(MPI_Request *receives, int *in)
{
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, world, &receives[i]);
    }
}

static void feed(int tag)
{
    int x = 10 * rank + tag;
    MPI_Send(&x, 1, MPI_INT, right, tag, world);
}

static void wait_and_test_any(void)
{
    MPI_Request r[N + 1];
    MPI_Status s;
    int in[N], index, flag;
    post(r, in);
    r[N] = MPI_REQUEST_NULL;
    feed(3);
    MPI_Waitany(N + 1, r, &index, &s);
    CHECK(index == 3 && s.MPI_TAG == 3 && r[3] == MPI_REQUEST_NULL);
    CHECK_EQUAL(in[3], 10 * left + 3);
    MPI_Testany(N + 1, r, &index, &flag, &s);
    CHECK(!flag && index == MPI_UNDEFINED);
    MPI_Barrier(world);
    for (int i = 0; i < N; i++)
        if (i != 3)
            feed(i);
    for (int done = 1; done < N;) {
        MPI_Testany(N + 1, r, &index, &flag, &s);
        if (flag) {
            CHECK(index >= 0 && s.MPI_TAG == index && in[index] == 10 * left + index);
            done++;
        }
    }
    MPI_Waitany(N + 1, r, &index, &s);
    CHECK(index == MPI_UNDEFINED && s.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Testany(N + 1, r, &index, &flag, &s);
    CHECK(flag && index == MPI_UNDEFINED);
}

static void wait_and_test_some(void)
{
    MPI_Request r[N];
    MPI_Status s[N];
    int in[N], indices[N], count, total = 0;
    post(r, in);
    MPI_Testsome(N, r, &count, indices, s);
    CHECK_EQUAL(count, 0);
    MPI_Barrier(world);
    for (int i = 0; i < N; i++)
        feed(i);
    while (total < N) {
        if (total % 2)
            MPI_Testsome(N, r, &count, indices, s);
        else
            MPI_Waitsome(N, r, &count, indices, s);
        CHECK(count > 0 || total % 2);
        for (int i = 0; i < count; i++) {
            CHECK_EQUAL(s[i].MPI_TAG, indices[i]);
            CHECK(r[indices[i]] == MPI_REQUEST_NULL);
        }
        total += count;
    }
    MPI_Waitsome(N, r, &count, indices, s);
    CHECK_EQUAL(count, MPI_UNDEFINED);
}

static void wait_and_test_all(void)
{
    MPI_Request r[N];
    MPI_Status s[N];
    int in[N], flag;
    post(r, in);
    MPI_Barrier(world);
    for (int i = 0; i < N - 1; i++)
        feed(i);
    MPI_Testall(N, r, &flag, s);
    CHECK(!flag && r[0] != MPI_REQUEST_NULL);
    MPI_Barrier(world);
    feed(N - 1);
    for (flag = 0; !flag;)
        MPI_Testall(N, r, &flag, s);
    for (int i = 0; i < N; i++)
        CHECK(r[i] == MPI_REQUEST_NULL && s[i].MPI_TAG == i && in[i] == 10 * left + i);
    MPI_Testall(N, r, &flag, s);
    CHECK(flag && s[0].MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

static void get_status(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    int in, flag, n;
    MPI_Request_get_status(r, &flag, &s);
    CHECK(flag && s.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Irecv(&in, 1, MPI_INT, left, 0, world, &r);
    MPI_Request_get_status(r, &flag, &s);
    CHECK(!flag);
    MPI_Barrier(world);
    feed(0);
    for (flag = 0; !flag;)
        MPI_Request_get_status(r, &flag, &s);
    MPI_Get_count(&s, MPI_INT, &n);
    CHECK(s.MPI_SOURCE == left && n == 1 && r != MPI_REQUEST_NULL);
    MPI_Wait(&r, &s);
    CHECK_EQUAL(in, 10 * left);
}

static void cancel(void)
{
    MPI_Request r;
    MPI_Status s;
    int in = -1, flag;
    MPI_Irecv(&in, 1, MPI_INT, left, 99, world, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &flag);
    CHECK(flag && in == -1);
    MPI_Irecv(&in, 1, MPI_INT, rank, 98, world, &r);
    MPI_Send(&rank, 1, MPI_INT, rank, 98, world);
    MPI_Request_get_status(r, &flag, &s);
    while (!flag)
        MPI_Request_get_status(r, &flag, &s);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &flag);
    CHECK(!flag && in == rank);
}

/* The data of a freed receive is there once the program can know it must be. */
static void free_active(void)
{
    MPI_Request r;
    int in = -1, out = rank;
    MPI_Irecv(&in, 1, MPI_INT, left, 1, world, &r);
    MPI_Request_free(&r);
    CHECK(r == MPI_REQUEST_NULL);
    MPI_Isend(&out, 1, MPI_INT, right, 1, world, &r);
    MPI_Request_free(&r);
    MPI_Barrier(world);
    mock_compute(5000);
    MPI_Barrier(world);
    CHECK_EQUAL(in, left);

    int *big = calloc(5000, sizeof *big);
    MPI_Issend(big, 5000, MPI_INT, right, 2, world, &r);
    MPI_Request_free(&r);
    MPI_Recv(big, 5000, MPI_INT, left, 2, world, MPI_STATUS_IGNORE);
    free(big);
}

static void handles(void)
{
    int x, y, flag;
    MPI_Request a, b, c;
    MPI_Isend(&rank, 1, MPI_INT, right, 3, world, &a);
    MPI_Isend(&rank, 1, MPI_INT, right, 3, world, &b);
    CHECK(a == b && a != MPI_REQUEST_NULL);
    c = a;
    MPI_Cancel(&a);
    MPI_Wait(&a, MPI_STATUS_IGNORE);
    CHECK(a == MPI_REQUEST_NULL && b == c);
    MPI_Request_free(&b);
    CHECK(b == MPI_REQUEST_NULL);
    MPI_Test(&c, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && c == MPI_REQUEST_NULL);

    MPI_Irecv(&x, 1, MPI_INT, left, 3, world, &a);
    MPI_Irecv(&y, 1, MPI_INT, left, 3, world, &b);
    CHECK(a != b);
    c = a;
    MPI_Wait(&a, MPI_STATUS_IGNORE);
    MPI_Irecv(&x, 1, MPI_INT, left, 3, world, &a);
    CHECK(a == c);
    feed(3);
    MPI_Wait(&b, MPI_STATUS_IGNORE);
    MPI_Wait(&a, MPI_STATUS_IGNORE);
    CHECK(y == left && x == 10 * left + 3);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    wait_and_test_any();
    MPI_Barrier(world);
    wait_and_test_some();
    MPI_Barrier(world);
    wait_and_test_all();
    MPI_Barrier(world);
    get_status();
    MPI_Barrier(world);
    cancel();
    free_active();
    handles();
    MPI_Finalize();
    return 0;
}
