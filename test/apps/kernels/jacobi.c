/*
 * Jacobi's method for heat in a square: blocks on a Cartesian grid of ranks exchange rows and columns by MPI_Sendrecv.
 *
 *   tiny  rims are exchanged point by point
 */
#include "kernel.h"

enum { N = 120 };

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", "tiny", NULL};
    begin(argc, argv, known);
    int dims[2] = {0}, place[2], north, south, west, east;
    MPI_Comm grid;
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (int[]){0, 0}, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, place);
    MPI_Cart_shift(grid, 0, 1, &north, &south);
    MPI_Cart_shift(grid, 1, 1, &west, &east);
    int rows = N / dims[0], columns = N / dims[1], wide = columns + 2;
    double *u = calloc((size_t)(rows + 2) * wide, sizeof *u), *v = calloc((size_t)(rows + 2) * wide, sizeof *v), change = 0;
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, wide, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int x = 0; place[0] == 0 && x < wide; x++)
        u[x] = v[x] = sin(M_PI * (place[1] * columns + x) / (N + 1)); /* warm at the north end */
    int steps = 200 * size;
    for (int step = 0; step < steps; step++) {
        if (step % 20 == 0)
            prepare(5 * MS);
        if (ails("tiny")) {
            for (int x = 1; x <= columns; x++) {
                MPI_Sendrecv(u + wide + x, 1, MPI_DOUBLE, north, 1, u + (rows + 1) * wide + x, 1, MPI_DOUBLE, south, 1, grid, MPI_STATUS_IGNORE);
                MPI_Sendrecv(u + rows * wide + x, 1, MPI_DOUBLE, south, 2, u + x, 1, MPI_DOUBLE, north, 2, grid, MPI_STATUS_IGNORE);
            }
            for (int y = 1; y <= rows; y++) {
                MPI_Sendrecv(u + y * wide + 1, 1, MPI_DOUBLE, west, 3, u + y * wide + columns + 1, 1, MPI_DOUBLE, east, 3, grid, MPI_STATUS_IGNORE);
                MPI_Sendrecv(u + y * wide + columns, 1, MPI_DOUBLE, east, 4, u + y * wide, 1, MPI_DOUBLE, west, 4, grid, MPI_STATUS_IGNORE);
            }
        } else {
            MPI_Sendrecv(u + wide + 1, columns, MPI_DOUBLE, north, 1, u + (rows + 1) * wide + 1, columns, MPI_DOUBLE, south, 1, grid, MPI_STATUS_IGNORE);
            MPI_Sendrecv(u + rows * wide + 1, columns, MPI_DOUBLE, south, 2, u + 1, columns, MPI_DOUBLE, north, 2, grid, MPI_STATUS_IGNORE);
            MPI_Sendrecv(u + wide + 1, 1, column, west, 3, u + wide + columns + 1, 1, column, east, 3, grid, MPI_STATUS_IGNORE);
            MPI_Sendrecv(u + wide + columns, 1, column, east, 4, u + wide, 1, column, west, 4, grid, MPI_STATUS_IGNORE);
        }
        compute(400 * US);
        double most = 0;
        for (int y = 1; y <= rows; y++)
            for (int x = 1; x <= columns; x++) {
                double *p = u + y * wide + x, new = (p[-1] + p[1] + p[-wide] + p[wide]) / 4;
                most = fmax(most, fabs(new - *p));
                v[y * wide + x] = new;
            }
        double *t = u;
        u = v, v = t;
        MPI_Allreduce(&most, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    /* The form along rows stays the same: a sine. */
    int ok = 1, x = columns / 2;
    for (int y = 1; y <= rows; y++)
        ok = ok && fabs(u[y * wide + x] * sin(M_PI * (place[1] * columns + 1) / (N + 1)) -
                        u[y * wide + 1] * sin(M_PI * (place[1] * columns + x) / (N + 1))) < 1e-12;
    return verified(ok && (size > 1 || near(change, 0.001, 1)), change);
}
