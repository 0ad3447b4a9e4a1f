/* Point-to-point functions: each test sends around the ring of ranks, which with
 * one rank means to itself. */
#include "check.h"

static int right, left;
static const MPI_Comm world = MPI_COMM_WORLD;

static void check_status(const MPI_Status *s, int source, int tag, int count)
{
    int n, cancelled;
    CHECK_EQUAL(s->MPI_SOURCE, source);
    CHECK_EQUAL(s->MPI_TAG, tag);
    MPI_Get_count(s, MPI_INT, &n);
    CHECK_EQUAL(n, count);
    MPI_Test_cancelled(s, &cancelled);
    CHECK(!cancelled);
}

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void modes(void)
{
    send_function *blocking[] = {MPI_Send, MPI_Bsend, MPI_Rsend, MPI_Ssend};
    isend_function *nonblocking[] = {MPI_Isend, MPI_Ibsend, MPI_Irsend, MPI_Issend};
    isend_function *persistent[] = {MPI_Send_init, MPI_Bsend_init, MPI_Rsend_init,
                                    MPI_Ssend_init};
    for (int i = 0; i < 4; i++) {
        for (int count = 0; count < 5000; count = 3 * count + 1) {
            int *out = malloc(5000 * sizeof *out), *in = malloc(5000 * sizeof *in);
            for (int k = 0; k < count; k++)
                out[k] = rank * 1000 + k;
            MPI_Status s;
            MPI_Request r, q;

            MPI_Irecv(in, count, MPI_INT, left, i, world, &r);
            blocking[i](out, count, MPI_INT, right, i, world);
            MPI_Wait(&r, &s);
            CHECK(r == MPI_REQUEST_NULL);
            check_status(&s, left, i, count);
            CHECK(count == 0 || in[count - 1] == left * 1000 + count - 1);

            memset(in, 0, (size_t)count * sizeof *in);
            nonblocking[i](out, count, MPI_INT, right, 9, world, &q);
            MPI_Recv(in, count, MPI_INT, left, 9, world, &s);
            check_status(&s, left, 9, count);
            CHECK(count == 0 || in[0] == left * 1000);
            MPI_Wait(&q, &s);
            CHECK(q == MPI_REQUEST_NULL);

            MPI_Recv_init(in, count, MPI_INT, left, MPI_ANY_TAG, world, &r);
            persistent[i](out, count, MPI_INT, right, 4, world, &q);
            for (int round = 0; round < 3; round++) {
                MPI_Request both[] = {r, q};
                out[0] = round;
                MPI_Startall(2, both);
                MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
                CHECK(both[0] == r && both[1] == q);
                CHECK(count == 0 || in[0] == round);
                MPI_Wait(&r, &s);
                check_status(&s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
            }
            MPI_Start(&r);
            MPI_Start(&q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
            MPI_Wait(&r, &s);
            check_status(&s, left, 4, count);
            MPI_Request_free(&r);
            MPI_Request_free(&q);
            CHECK(r == MPI_REQUEST_NULL && q == MPI_REQUEST_NULL);
            free(out);
            free(in);
        }
    }
}

static void large_counts(void)
{
    int out = rank, in;
    MPI_Count n;
    MPI_Status s;
    MPI_Request r, q;
    MPI_Irecv_c(&in, 1, MPI_INT, left, 0, world, &r);
    MPI_Isend_c(&out, 1, MPI_INT, right, 0, world, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Wait(&r, &s);
    MPI_Get_count_c(&s, MPI_INT, &n);
    CHECK(n == 1 && in == left);
    MPI_Send_c(&out, 1, MPI_INT, right, 0, world);
    in = -1;
    MPI_Recv_c(&in, 1, MPI_INT, left, 0, world, &s);
    CHECK_EQUAL(in, left);
}

/* Messages of one pair arrive in order within a tag, whatever order tags take. */
static void order(void)
{
    enum { N = 20 };
    for (int i = 0; i < N; i++)
        MPI_Send(&i, 1, MPI_INT, right, i % 2, world);
    for (int tag = 1; tag >= 0; tag--)
        for (int i = tag; i < N; i += 2) {
            int in;
            MPI_Recv(&in, 1, MPI_INT, left, tag, world, MPI_STATUS_IGNORE);
            CHECK_EQUAL(in, i);
        }
}

static void wildcards(void)
{
    int sum = 0, in;
    MPI_Status s;
    MPI_Request *requests = malloc((size_t)size * sizeof *requests);
    for (int i = 0; i < size; i++)
        MPI_Isend(&rank, 1, MPI_INT, i, rank, world, &requests[i]);
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++) {
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &s);
        CHECK(s.MPI_SOURCE == in && s.MPI_TAG == in);
        sum += in;
    }
    CHECK_EQUAL(sum, size * (size - 1) / 2);
    free(requests);
}

static void sendrecv(void)
{
    int out[3] = {rank, rank + 1, rank + 2}, in[3] = {0};
    MPI_Status s;
    MPI_Sendrecv(out, 3, MPI_INT, right, 1, in, 3, MPI_INT, left, 1, world, &s);
    check_status(&s, left, 1, 3);
    CHECK(in[0] == left && in[2] == left + 2);
    MPI_Sendrecv_replace(out, 3, MPI_INT, right, 2, left, 2, world, &s);
    check_status(&s, left, 2, 3);
    CHECK(out[0] == left && out[2] == left + 2);
    int *big = malloc(100000 * sizeof *big);
    for (int i = 0; i < 100000; i++)
        big[i] = rank + i;
    MPI_Sendrecv_replace(big, 100000, MPI_INT, right, 3, left, 3, world, &s);
    check_status(&s, left, 3, 100000);
    CHECK(big[0] == left && big[99999] == left + 99999);
    free(big);
}

static void probes(void)
{
    int out[4] = {rank, 2, 3, 4}, in[4], flag;
    MPI_Status s;
    MPI_Message m;
    MPI_Request r;
    MPI_Iprobe(left, 77, world, &flag, &s);
    CHECK(!flag);
    MPI_Improbe(left, 77, world, &flag, &m, &s);
    CHECK(!flag);

    MPI_Send(out, 4, MPI_INT, right, 5, world);
    MPI_Probe(MPI_ANY_SOURCE, 5, world, &s);
    check_status(&s, left, 5, 4);
    for (flag = 0; !flag;)
        MPI_Iprobe(left, MPI_ANY_TAG, world, &flag, &s);
    check_status(&s, left, 5, 4);
    MPI_Recv(in, 4, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, world, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[0], left);

    MPI_Send(out, 1, MPI_INT, right, 6, world);
    MPI_Send(out, 2, MPI_INT, right, 6, world);
    MPI_Mprobe(left, 6, world, &m, &s);
    check_status(&s, left, 6, 1);
    MPI_Recv(in, 4, MPI_INT, left, 6, world, &s);
    check_status(&s, left, 6, 2);
    MPI_Mrecv(in, 4, MPI_INT, &m, &s);
    check_status(&s, left, 6, 1);
    CHECK(m == MPI_MESSAGE_NULL);

    MPI_Isend(out, 3, MPI_INT, right, 7, world, &r);
    for (flag = 0; !flag;)
        MPI_Improbe(MPI_ANY_SOURCE, 7, world, &flag, &m, &s);
    check_status(&s, left, 7, 3);
    MPI_Request q;
    MPI_Imrecv(in, 3, MPI_INT, &m, &q);
    MPI_Wait(&q, &s);
    check_status(&s, left, 7, 3);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void nobody(void)
{
    int x = 42, flag, index;
    MPI_Status s;
    MPI_Message m;
    MPI_Request r, q;
    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world);
    MPI_Ssend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &s);
    check_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &r);
    MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &q);
    MPI_Wait(&r, &s);
    check_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Test(&q, &flag, &s);
    CHECK(flag && q == MPI_REQUEST_NULL);
    MPI_Recv_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &r);
    MPI_Start(&r);
    MPI_Waitany(1, &r, &index, &s);
    CHECK_EQUAL(index, 0);
    check_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Request_free(&r);
    MPI_Probe(MPI_PROC_NULL, 0, world, &s);
    check_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Improbe(MPI_PROC_NULL, 0, world, &flag, &m, &s);
    CHECK(flag && m == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&x, 1, MPI_INT, &m, &s);
    check_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &s);
    check_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_EQUAL(x, 42);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    int buffer[1000], *back, n;
    MPI_Buffer_attach(buffer, sizeof buffer);
    modes();
    MPI_Buffer_detach(&back, &n);
    CHECK(back == buffer && n == sizeof buffer);
    large_counts();
    order();
    MPI_Barrier(world);
    wildcards();
    MPI_Barrier(world);
    sendrecv();
    probes();
    nobody();
    MPI_Finalize();
    return 0;
}
