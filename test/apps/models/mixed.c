/*
 * Two models, one after the other: master and workers look at the pieces of a field, then the field is stepped in time,
 * a piece per rank, which exchanges its rim with its neighbours.
 *
 *   healthy      both as they should be
 *   slow-master  the master computes for a while on each result
 *   imbalance    one rank has twice the cells when the field is stepped
 *   both         the two together
 *   turns        healthy; ten times in turn
 *   turns-both   both; ten times in turn
 */
#include "model.h"

enum { RESULT = 1, TASK = 2, CELLS = 4096 };

static double out[2][CELLS], in[2][CELLS];
static uint64_t handling = 2 * US;

static NOINLINE void master(int tasks)
{
    int next = 0, task, result;
    for (int waiting = 0; waiting < ranks - 1;) {
        MPI_Status status;
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        work_ns(handling);
        task = next < tasks;
        waiting += next++ >= tasks;
        MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
    }
}

static NOINLINE void worker(void)
{
    for (int task, result = 0;;) {
        MPI_Send(&result, 1, MPI_INT, 0, RESULT, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!task)
            break;
        work_for(200 * US);
    }
}

static NOINLINE void farm(int tasks)
{
    if (rank == 0)
        master(tasks * (ranks - 1));
    else
        worker();
}

static NOINLINE void exchange(void)
{
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request r[4];
    MPI_Irecv(in[0], CELLS, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in[1], CELLS, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(out[1], CELLS, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(out[0], CELLS, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static NOINLINE void field(int steps, uint64_t ns)
{
    for (int s = 0; s < steps; s++) {
        work_for(ns);
        exchange();
    }
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow-master", "imbalance", "both", "turns", "turns-both", NULL};
    begin(argc, argv, known);
    int both = ails("both") || ails("turns-both"), turns = ails("turns") || ails("turns-both") ? 10 : 1;
    if (ails("slow-master") || both)
        handling = 100 * US * length;
    uint64_t ns = 200 * US, mine = ails("imbalance") || both ? uneven(ns, ranks / 3) : ns;
    int tasks = 40 * size, steps = 50 * size;
    for (int turn = 0; turn < turns; turn++) {
        farm(tasks / turns);
        field(steps / turns, mine);
    }
    return finish(ns * (uint64_t)(tasks + steps));
}
