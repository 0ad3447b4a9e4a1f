/* Ways for a job to end, by the name in the first argument. Rank 1, or 0 if it is
 * alone, does what the name says while the others wait for ever. */
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

static bool is(const char *name, char **argv)
{
    return strcmp(argv[1], name) == 0;
}

static void wait_for_ever(void)
{
    MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int x = 0;
    MPI_Request r;
    if (is("no-mpi", argv))
        return 0;
    if (is("no-mpi-5", argv))
        return 5;
    if (is("early-call", argv))
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (is("one-without", argv) && strstr(getenv("MOCKMPI"), "rank=1"))
        return 0;
    start(&argc, &argv);
    bool actor = rank == (size > 1);
    if (is("late-call", argv)) {
        MPI_Finalize();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (is("finalize-4", argv)) {
        MPI_Finalize();
        return actor ? 4 : 0;
    }
    if (is("ready", argv)) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (actor) {
            puts("ready");
            fflush(stdout);
        }
        wait_for_ever();
    }
    if (is("stubborn", argv)) {
        if (!actor)
            signal(SIGTERM, SIG_IGN);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (is("deadlock", argv)) {
        mock_compute((uint64_t)(100 * rank));
        if (rank == 0)
            MPI_Recv(&x, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (rank == 1)
            MPI_Ssend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (is("mismatch", argv)) {
        if (rank == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (!actor)
        wait_for_ever();
    if (is("abort-7", argv) || is("stubborn", argv))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (is("exit-3", argv))
        exit(3);
    if (is("exit-0", argv))
        exit(0);
    if (is("segv", argv)) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (is("kill", argv))
        raise(SIGKILL);
    if (is("init-twice", argv))
        MPI_Init(NULL, NULL);
    if (is("bad-rank", argv))
        MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    if (is("bad-isend", argv))
        MPI_Isend(&x, 1, MPI_INT, -9, 0, MPI_COMM_WORLD, &r);
    return 0;
}
