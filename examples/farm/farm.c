/* Master and workers: the master does too much with each result, and tasks are short. */
#include <mpi.h>

#include "../work.h"

enum { TASKS = 600, TASK = 1, STOP = 2 };

static void use(double result) { work_us(100 + 0 * result); }
static double solve(double task) { work_us(300); return task; }

static void master(int workers)
{
    double task = 0, result;
    MPI_Status s;
    for (int w = 1; w <= workers; w++, task++)
        MPI_Send(&task, 1, MPI_DOUBLE, w, TASK, MPI_COMM_WORLD);
    for (int done = 0; done < TASKS; done++) {
        MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        use(result);
        MPI_Send(&task, 1, MPI_DOUBLE, s.MPI_SOURCE, task < TASKS ? TASK : STOP, MPI_COMM_WORLD);
        task++;
    }
}

static void worker(void)
{
    double task;
    MPI_Status s;
    for (;;) {
        MPI_Recv(&task, 1, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        if (s.MPI_TAG == STOP)
            return;
        task = solve(task);
        MPI_Send(&task, 1, MPI_DOUBLE, 0, TASK, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        master(ranks - 1);
    else
        worker();
    MPI_Finalize();
    return 0;
}
