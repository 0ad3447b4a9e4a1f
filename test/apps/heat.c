/*
 * The demonstration: heat spreading over a plate, solved by Jacobi iteration on rows divided among ranks.
 *
 *     heat [--uneven] [ROWS [STEPS]]
 *
 * With --uneven the last rank gets twice the rows of the others, as happens when somebody divides a mesh by
 * hand; the report should say so.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1024 };

static int rank, ranks;

/* Rows of this rank, of `total`. */
static int share(int total, int uneven)
{
    int parts = ranks + (uneven && ranks > 1);
    int mine = total / parts;
    return uneven && ranks > 1 && rank == ranks - 1 ? total - mine * (ranks - 1) : mine + (!uneven && rank < total % ranks);
}

static void exchange_edges(double *u, int rows)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request r[4];
    MPI_Irecv(u, COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(u + (rows + 1) * COLUMNS, COLUMNS, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(u + rows * COLUMNS, COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(u + COLUMNS, COLUMNS, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static double relax(const double *u, double *v, int rows)
{
    double change = 0;
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < COLUMNS - 1; j++) {
            const double *c = u + i * COLUMNS + j;
            double next = 0.25 * (c[-1] + c[1] + c[-COLUMNS] + c[COLUMNS]);
            change += (next - *c) * (next - *c);
            v[i * COLUMNS + j] = next;
        }
    return change;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int uneven = argc > 1 && strcmp(argv[1], "--uneven") == 0;
    int total = argc > 1 + uneven ? atoi(argv[1 + uneven]) : 2048;
    int steps = argc > 2 + uneven ? atoi(argv[2 + uneven]) : 500;
    int rows = share(total, uneven);
    double *u = calloc((size_t)(rows + 2) * COLUMNS, sizeof *u), *v = calloc((size_t)(rows + 2) * COLUMNS, sizeof *v), change = 0;
    if (!u || !v)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        for (int j = 0; j < COLUMNS; j++)
            u[j] = v[j] = 100; /* the hot edge */
    for (int i = 0; i < steps; i++) {
        exchange_edges(u, rows);
        double mine = relax(u, v, rows), *swap = u;
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        u = v;
        v = swap;
    }
    if (rank == 0)
        printf("%d rows on %d ranks, %d steps: the last changed the plate by %.6f\n", total, ranks, steps, change);
    free(u);
    free(v);
    MPI_Finalize();
    return 0;
}
