/*
 * CG, conjugate gradients (NAS): a sparse matrix is cut into blocks on a grid of ranks. Products are added up along the
 * rows of the grid by exchanges with ranks 1, 2, 4, … columns away, and exchanged with the transposed rank; so are sums.
 *
 *   tiny  products are sent number by number
 */
#include "kernel.h"

enum { N = 2048, DIAGONALS = 5 };

static const int offset[DIAGONALS] = {1, 31, 200, 517, 1000};
static int rows, columns, row, column, height, width, transposed;

/* Adds up n numbers along the row. */
static NOINLINE void sum_along_row(double *v, int n)
{
    double in[n];
    MPI_Request r;
    int at_once = ails("tiny") && n > 1 ? 2 : n;
    for (int step = columns / 2; step > 0; step /= 2) {
        int other = row * columns + (column ^ step);
        for (int i = 0; i < n; i += at_once) {
            MPI_Irecv(in + i, at_once, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &r);
            MPI_Send(v + i, at_once, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < n; i++)
            v[i] += in[i];
    }
}

static NOINLINE void multiply(const double *p, double *q)
{
    double w[height];
    MPI_Request r;
    for (int i = 0; i < height; i++) {
        int me = row * height + i;
        w[i] = 0;
        for (int d = -DIAGONALS; d <= DIAGONALS; d++) {
            int j = d ? (me + (d > 0 ? offset[d - 1] : N - offset[-d - 1])) % N : me;
            if (j / width == column)
                w[i] += (d ? -1 : 2 * DIAGONALS + 1) * p[j % width];
        }
    }
    compute(400 * US);
    sum_along_row(w, height);
    double *half = w + (columns > rows && rank % 2 ? width : 0);
    if (transposed != rank) {
        MPI_Irecv(q, width, MPI_DOUBLE, transposed, 2, MPI_COMM_WORLD, &r);
        MPI_Send(half, width, MPI_DOUBLE, transposed, 2, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else
        memcpy(q, half, sizeof *q * width);
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < width; i++)
        sum += a[i] * b[i];
    compute(20 * US);
    sum_along_row(&sum, 1);
    return sum;
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", "tiny", NULL};
    begin(argc, argv, known);
    for (rows = 1; 4 * rows * rows <= ranks; rows *= 2)
        ;
    columns = ranks / rows;
    row = rank / columns, column = rank % columns;
    height = N / rows, width = N / columns;
    int half = columns / rows, cell = rank / half; /* of a square grid */
    transposed = half * (cell % rows * rows + cell / rows) + rank % half;
    double x[width], r[width], p[width], q[width], want[width], zeta = 0, error = 0;
    for (int i = 0; i < width; i++)
        want[i] = sin(column * width + i);
    for (int outer = 0; outer < 5 * size; outer++) {
        prepare(3 * MS);
        multiply(want, r); /* what is looked for is known */
        memset(x, 0, sizeof x);
        memcpy(p, r, sizeof p);
        double rho = dot(r, r);
        for (int step = 0; step < 25; step++) {
            multiply(p, q);
            double alpha = rho / dot(p, q), old = rho;
            for (int i = 0; i < width; i++)
                x[i] += alpha * p[i], r[i] -= alpha * q[i];
            rho = dot(r, r);
            for (int i = 0; i < width; i++)
                p[i] = r[i] + rho / old * p[i];
            compute(30 * US);
        }
        for (int i = 0; i < width; i++)
            r[i] = x[i] - want[i];
        error = sqrt(dot(r, r));
        zeta = dot(x, x);
    }
    return verified(error < 1e-6 && near(zeta, 1024.046451, 1e-9), zeta);
}
