/*
 * Rank 1 comes late, by a known time, in one way at a time:
 *
 *     waits PATTERN MILLISECONDS [REPETITIONS [killed]]
 *
 * Rank 0 prints, from the program's own timestamps on a clock that all ranks of a host share, the pattern and for
 * how many nanoseconds ranks waited so: "expected late-sender 100012345".
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 2000 };

static int rank, ranks, repetitions = 5;
static long milliseconds;
static double entered[MOST], number = 1, sum;

/* MPI_Wtime will not do: under Open MPI each process begins at its own zero. The mock has a clock of its own. */
uint64_t mock_now(void) __attribute__((weak));

static double now(void)
{
    struct timespec t;
    if (mock_now)
        return (double)mock_now() / 1e9;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Blocked, so that it needs no core of others. */
static __attribute__((noinline)) void late(void)
{
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    if (rank == 1)
        nanosleep(&t, NULL);
}

static void late_sender(int i)
{
    late();
    entered[i] = now();
    if (rank == 1)
        MPI_Send(&number, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(&sum, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void late_sender_wait(int i)
{
    MPI_Request r;
    if (rank == 0)
        MPI_Irecv(&sum, 1, MPI_DOUBLE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
    late();
    entered[i] = now();
    if (rank == 1)
        MPI_Send(&number, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void late_sender_probe(int i)
{
    MPI_Message m;
    late();
    entered[i] = now();
    if (rank == 1) {
        MPI_Send(&number, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
        MPI_Mrecv(&sum, 1, MPI_DOUBLE, &m, MPI_STATUS_IGNORE);
    }
}

static void late_receiver(int i)
{
    late();
    entered[i] = now();
    if (rank == 0)
        MPI_Ssend(&number, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&sum, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each has the other one's message when that one has come: who sends does not wait, though it asks for both at once. */
static void exchange(int i)
{
    MPI_Request r[2];
    late();
    entered[i] = now();
    if (rank <= 1) {
        MPI_Isend(&number, 1, MPI_DOUBLE, 1 - rank, 3, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&sum, 1, MPI_DOUBLE, 1 - rank, 3, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
}

/* More than libraries send at once: rank 1 gets it when it calls MPI again, unless something else moves it meanwhile. */
static char large[1 << 16];

static void late_progress(int i)
{
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Isend(large, sizeof large, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &r);
    else if (rank == 1)
        MPI_Irecv(large, sizeof large, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &r);
    late();
    entered[i] = now();
    if (rank <= 1)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void barrier(int i)
{
    late();
    entered[i] = now();
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int i)
{
    late();
    entered[i] = now();
    MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void iallreduce(int i)
{
    MPI_Request r;
    late();
    entered[i] = now();
    MPI_Iallreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void reduce(int i)
{
    late();
    entered[i] = now();
    MPI_Reduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void broadcast(int i)
{
    late();
    entered[i] = now();
    MPI_Bcast(&sum, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
}

static void scan(int i)
{
    MPI_Comm backward; /* in which rank 1 is before rank 0 */
    MPI_Comm_split(MPI_COMM_WORLD, rank > 1, -rank, &backward);
    late();
    entered[i] = now();
    if (rank <= 1)
        MPI_Scan(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, backward);
    MPI_Comm_free(&backward);
}

static MPI_Win window;

static void fence(int i)
{
    late();
    entered[i] = now();
    MPI_Win_fence(0, window);
}

/* Who waits: rank 0 for rank 1, or each for the last. */
static const struct {
    const char *name, *pattern;
    void (*step)(int i);
    int all;
} scenarios[] = {
    {"late-sender", "late-sender", late_sender, 0},
    {"late-sender-wait", "late-sender", late_sender_wait, 0},
    {"late-sender-probe", "late-sender", late_sender_probe, 0},
    {"late-receiver", "late-receiver", late_receiver, 0},
    {"exchange", "late-sender", exchange, 0},
    {"late-progress", "late-progress", late_progress, 0},
    {"barrier", "wait-at-barrier", barrier, 1},
    {"allreduce", "wait-at-nxn", allreduce, 1},
    {"iallreduce", "wait-at-nxn", iallreduce, 1},
    {"reduce", "early-reduce", reduce, 0},
    {"broadcast", "late-broadcast", broadcast, 2},
    {"scan", "early-scan", scan, 0},
    {"fence", "wait-at-fence", fence, 1},
};

int main(int argc, char **argv)
{
    static double all[64 * MOST];
    const int n = sizeof scenarios / sizeof *scenarios;
    int which = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (argc > 2 && which < n && strcmp(argv[1], scenarios[which].name) != 0)
        which++;
    if (argc > 3)
        repetitions = atoi(argv[3]);
    if (argc < 3 || which == n || ranks < 2 || ranks > 64 || repetitions > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    milliseconds = atol(argv[2]);
    MPI_Win_create(all, sizeof all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < repetitions; i++)
        scenarios[which].step(i);
    MPI_Gather(entered, repetitions, MPI_DOUBLE, all, repetitions, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double waited = 0;
    for (int i = 0; i < repetitions && rank == 0; i++) {
        double last = all[repetitions + i];
        for (int r = 0; scenarios[which].all != 2 && r < ranks; r++)
            if ((scenarios[which].all == 1 || strcmp(argv[1], "reduce") == 0) && all[r * repetitions + i] > last)
                last = all[r * repetitions + i];
        for (int r = 0; r < (scenarios[which].all ? ranks : 1); r++)
            if (all[r * repetitions + i] < last)
                waited += last - all[r * repetitions + i];
    }
    if (rank == 0)
        printf("expected %s %.0f\n", scenarios[which].pattern, waited * 1e9);
    if (argc > 4) {
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
