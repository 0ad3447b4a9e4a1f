/*
 * Master and workers: rank 0 hands out tasks, the others work on them.
 *
 *   healthy      many tasks of fair size, handed out as workers become free
 *   rounds       healthy too: as many tasks at a time as there are workers
 *   slow-master  the master computes for a while on each result before it answers
 *   fine-grain   the same work in far too many tasks
 *   coarse-grain the same work in too few tasks
 *   slow-worker  rounds in which one worker takes twice as long
 *   even-rounds  healthy too: in which all do an equal part of that
 *   starvation   fewer tasks than workers
 *   tail         the largest task comes last
 */
#include "model.h"

enum { RESULT = 1, TASK = 2 };

static uint64_t handling = 2 * US;

/* What each worker has to do, if they share it equally. */
static uint64_t ideal(void)
{
    return 8 * MS * (uint64_t)size;
}

/* How long task i of n takes. */
static uint64_t task_time(int i, int n)
{
    uint64_t all = ideal() * (uint64_t)(ranks - 1);
    if (ails("tail"))
        return i == n - 1 ? all / 10 : all * 9 / 10 / (uint64_t)(n - 1);
    return all / (uint64_t)n;
}

static NOINLINE void handle_result(void)
{
    work_ns(handling);
}

static NOINLINE void master(int tasks)
{
    int next = 0;
    uint64_t task[64] = {0}, result[64];
    for (int waiting = 0; waiting < ranks - 1;) {
        MPI_Status status;
        MPI_Recv(result, 64, MPI_UINT64_T, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        handle_result();
        task[0] = next < tasks ? task_time(next, tasks) : 0;
        waiting += next++ >= tasks;
        MPI_Send(task, 64, MPI_UINT64_T, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
    }
}

static NOINLINE void master_in_rounds(int tasks)
{
    uint64_t task[64] = {0}, result[64];
    for (int done = 0; done <= tasks; done += ranks - 1) {
        for (int w = 1; w < ranks; w++)
            MPI_Recv(result, 64, MPI_UINT64_T, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        handle_result();
        task[0] = done < tasks ? task_time(done, tasks) : 0;
        for (int w = 1; w < ranks; w++)
            MPI_Send(task, 64, MPI_UINT64_T, w, TASK, MPI_COMM_WORLD);
    }
}

static NOINLINE void worker(void)
{
    uint64_t task[64], result[64] = {0};
    for (;;) {
        MPI_Send(result, 64, MPI_UINT64_T, 0, RESULT, MPI_COMM_WORLD);
        MPI_Recv(task, 64, MPI_UINT64_T, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task[0] == 0)
            break;
        uint64_t ns = task[0];
        if (ails("slow-worker") && rank == 1)
            ns *= 2;
        if (ails("even-rounds"))
            ns = ns * (uint64_t)ranks / (uint64_t)(ranks - 1);
        work_for(ns);
    }
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "rounds",      "slow-master", "fine-grain", "coarse-grain",
                                        "slow-worker", "even-rounds", "starvation", "tail", NULL};
    begin(argc, argv, known);
    int workers = ranks - 1, tasks = 40 * workers * size;
    if (ails("slow-master"))
        handling = 100 * US * length;
    if (ails("fine-grain"))
        tasks *= 25;
    if (ails("coarse-grain"))
        tasks = workers + 1;
    if (ails("starvation"))
        tasks = workers > 2 ? workers / 2 : 1;
    if (rank > 0)
        worker();
    else if (ails("rounds") || ails("even-rounds") || ails("slow-worker"))
        master_in_rounds(tasks);
    else
        master(tasks);
    return finish(ideal());
}
