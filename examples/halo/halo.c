/* A field of rows, divided among ranks by hand: the last rank has got half as many rows again as the others. */
#include <mpi.h>
#include <stdlib.h>

#include "../work.h"

enum { ROWS = 128, COLUMNS = 256, STEPS = 200 };

static int rank, ranks;

static void exchange(double *field, int rows)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request r[4];
    MPI_Irecv(field, COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(field + (rows + 1) * COLUMNS, COLUMNS, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(field + COLUMNS, COLUMNS, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(field + rows * COLUMNS, COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void relax(int rows) { work_us(rows * 10); }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rows = rank == ranks - 1 ? ROWS * 3 / 2 : ROWS;
    double *field = calloc((size_t)(rows + 2) * COLUMNS, sizeof *field), change = 1, all = 0;
    for (int step = 0; step < STEPS; step++) {
        exchange(field, rows);
        relax(rows);
        MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    free(field);
    MPI_Finalize();
    return 0;
}
