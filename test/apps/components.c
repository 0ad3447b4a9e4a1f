/*
 * Components through the hooks of C, and what their records must say. On the mock's virtual clock all of it is
 * exact: the comment at each invocation gives it as wall, mpi, overlap, in nanoseconds.
 *
 *     components [EXIT]    with an argument, leaves in the middle
 */
#include "work.h"

#include <marple.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static struct marple_method go = MARPLE_METHOD("Driver", "go");
static struct marple_method flux = MARPLE_METHOD("Flux", "compute");
static struct marple_method mesh = {"Mesh", "exchange", "fine", 0, 0};
static struct marple_method skipped = MARPLE_METHOD("Mesh", "skipped");
static struct marple_method off = {"Mesh", "off", NULL, 0, 1};
static int rank, ranks;

/* 1000 n, 0, 0; inside Mesh.exchange the same again. */
static void compute(int n, const char *context)
{
    struct marple_invocation call;
    marple_invocation_begin(&call, &flux, context);
    marple_integer(&call, "n", n);
    marple_real(&call, "half", n / 2.0);
    work_ns(1000 * (uint64_t)n);
    marple_quality(&call, "accuracy", 1.0 / n);
    marple_invocation_end(&call);
}

/*
 * A ring of messages while it computes: the message takes 1000 + 100 (1000 bytes) to arrive. Computes 3000 with
 * messages in flight and 500 without; nothing is left to wait for. 3500, 0, 3000; then with too little to do:
 * 400 of computing overlap, and 700 of waiting.
 */
static void exchange(int overlapped)
{
    char out[1000] = "", in[1000];
    MPI_Request requests[2];
    struct marple_invocation call;
    marple_invocation_begin(&call, &mesh, NULL);
    MPI_Irecv(in, sizeof in, MPI_CHAR, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, sizeof out, MPI_CHAR, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
    if (overlapped)
        compute(3, "level 1");
    else
        work_ns(400);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (overlapped)
        work_ns(500);
    marple_integer(&call, "n", sizeof out);
    marple_integer(&call, "overlapped", overlapped);
    marple_invocation_end(&call);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct marple_invocation run, none;
    marple_invocation_begin(&run, &go, NULL);
    marple_integer(&run, "rank", rank); /* the name of a column of every run */
    for (int n = 1; n <= 3; n++)
        compute(n, NULL);
    exchange(1);
    exchange(0);
    marple_invocation_begin(&none, &skipped, NULL);
    marple_invocation_end(&none);
    marple_invocation_begin(&none, &off, NULL);
    marple_invocation_end(&none);
    if (argc > 1) {
        MPI_Barrier(MPI_COMM_WORLD); /* the others are killed with the first that leaves */
        abort();
    }
    work_ns(7000 * (uint64_t)rank);
    MPI_Barrier(MPI_COMM_WORLD);
    marple_invocation_end(&run);
    MPI_Finalize();
    return 0;
}
