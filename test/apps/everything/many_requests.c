/* More requests completed by one call than records fit one commit, or one ring. */
#include "expect.h"

enum { MOST = 5000, TAG = 11 };
#define WORLD MPI_COMM_WORLD
#define INT ((long long)sizeof(int))

static int out[MOST], in[MOST], indices[2 * MOST];
static MPI_Request requests[2 * MOST];
static MPI_Status statuses[2 * MOST];
static int to, from;

static void begin(int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = rank + i;
        in[i] = -1;
        CALL(Irecv, on(WORLD), 0, 0, &in[i], 1, MPI_INT, from, TAG, WORLD, &requests[i]);
    }
    for (int i = 0; i < n; i++) {
        CALL(Isend, on(WORLD), INT, 0, &out[i], 1, MPI_INT, to, TAG, WORLD, &requests[n + i]);
        sent(WORLD, to, INT);
    }
}

static void done(int n, const char *function)
{
    for (int i = 0; i < n; i++) {
        arrived(function, WORLD, from, INT);
        CHECK(in[i] == from + i);
    }
}

static void started_together(int n)
{
    for (int i = 0; i < n; i++) {
        in[i] = -1;
        CALL(Recv_init, on(WORLD), 0, 0, &in[i], 1, MPI_INT, from, TAG, WORLD, &requests[i]);
        CALL(Send_init, on(WORLD), 0, 0, &out[i], 1, MPI_INT, to, TAG, WORLD, &requests[n + i]);
    }
    DO(Startall, 2 * n, requests);
    for (int i = 0; i < n; i++) {
        moved("MPI_Startall", on(WORLD), INT, 0);
        sent(WORLD, to, INT);
    }
    DO(Waitall, 2 * n, requests, MPI_STATUSES_IGNORE);
    done(n, "MPI_Startall");
    for (int i = 0; i < 2 * n; i++)
        DO(Request_free, &requests[i]);
}

void many_requests(void)
{
    static const int numbers[] = {1, 31, 32, 33, 64, 65, MOST};
    int flag;
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int n = numbers[i];
        begin(n);
        DO(Waitall, 2 * n, requests, MPI_STATUSES_IGNORE);
        done(n, "MPI_Irecv");
        begin(n);
        DO(Waitall, 2 * n, requests, statuses);
        done(n, "MPI_Irecv");
        CHECK(statuses[n - 1].MPI_SOURCE == from);
    }
    started_together(70);
    begin(300);
    do {
        DO(Testall, 600, requests, &flag, MPI_STATUSES_IGNORE);
    } while (!flag);
    hit("MPI_Testall");
    done(300, "MPI_Irecv");
    begin(300);
    for (int left = 600, n; left > 0; left -= n)
        DO(Waitsome, 600, requests, &n, indices, statuses);
    done(300, "MPI_Irecv");
}
