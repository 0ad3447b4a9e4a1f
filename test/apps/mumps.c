/*
 * Debian's MUMPS on the equation of Poisson on a cube of SIZE points each way: a multifrontal factorization, and a solution.
 *
 *     mumps [SIZE]
 *
 * Rank 0 prints how far the solution is from the one that was chosen.
 */
#include <dmumps_c.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { START = -1, END = -2, ALL = 6, WORLD = -987654 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int points = size * size * size, entries = 0;
    DMUMPS_STRUC_C mumps = {.sym = 1, .par = 1, .comm_fortran = WORLD, .job = START};
    dmumps_c(&mumps);
    for (int k = 0; k < 4; k++)
        mumps.icntl[k] = k < 3 ? -1 : 0; /* silent */
    int *row = malloc(4 * sizeof *row * (size_t)points), *column = malloc(4 * sizeof *column * (size_t)points);
    double *value = malloc(4 * sizeof *value * (size_t)points), *b = calloc((size_t)points, sizeof *b);
    if (rank == 0) {
        const int step[] = {1, size, size * size};
        for (int i = 0; i < points; i++) {
            row[entries] = column[entries] = i + 1;
            value[entries++] = 6;
            b[i] += 6;
            for (int d = 0; d < 3; d++) {
                int j = i + step[d];
                if (j / step[d] % size == 0 || j >= points)
                    continue;
                row[entries] = j + 1, column[entries] = i + 1;
                value[entries++] = -1;
                b[i] -= 1, b[j] -= 1;
            }
        }
        mumps.n = points, mumps.nz = entries;
        mumps.irn = row, mumps.jcn = column, mumps.a = value, mumps.rhs = b;
    }
    mumps.job = ALL;
    dmumps_c(&mumps);
    int failed = mumps.infog[0];
    if (rank == 0) {
        double far = 0;
        for (int i = 0; i < points; i++)
            far = fmax(far, fabs(b[i] - 1));
        printf("info %d difference %.0e\n", failed, far);
    }
    mumps.job = END;
    dmumps_c(&mumps);
    free(row), free(column), free(value), free(b);
    MPI_Finalize();
    return failed != 0;
}
