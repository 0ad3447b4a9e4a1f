/*
 * Matrix multiplication on a square grid of ranks, by shifts (Cannon) or by broadcasts along rows and columns (SUMMA).
 *
 *   KERNEL AILMENT SIZE LENGTH cannon|summa
 */
#include "kernel.h"

enum { N = 120 };

static int q, row, column, n;
static double *a, *b, *c;
static MPI_Comm grid, along_row, along_column;

static NOINLINE void multiply(const double *x, const double *y)
{
    compute(3 * MS);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += x[i * n + k] * y[k * n + j];
}

static NOINLINE void shift(double *x, int dimension, int by)
{
    int from, to;
    MPI_Cart_shift(grid, dimension, -by, &from, &to);
    MPI_Sendrecv_replace(x, n * n, MPI_DOUBLE, to, 1, from, 1, grid, MPI_STATUS_IGNORE);
}

static NOINLINE void cannon(void)
{
    shift(a, 1, row);
    shift(b, 0, column);
    for (int step = 0; step < q; step++) {
        multiply(a, b);
        shift(a, 1, 1);
        shift(b, 0, 1);
    }
    shift(a, 1, -row);
    shift(b, 0, -column);
}

static NOINLINE void summa(void)
{
    double *x = malloc(sizeof *x * n * n), *y = malloc(sizeof *y * n * n);
    for (int step = 0; step < q; step++) {
        memcpy(x, a, sizeof *x * n * n);
        memcpy(y, b, sizeof *y * n * n);
        MPI_Bcast(x, n * n, MPI_DOUBLE, step, along_row);
        MPI_Bcast(y, n * n, MPI_DOUBLE, step, along_column);
        multiply(x, y);
    }
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", NULL};
    begin(argc, argv, known);
    for (q = 1; (q + 1) * (q + 1) <= ranks; q++)
        ;
    if (q * q != ranks || N % q) {
        fprintf(stderr, "%s: on a square of ranks\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int by_shifts = argc < 5 || strcmp(argv[4], "cannon") == 0, ok = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){q, q}, (int[]){1, 1}, 0, &grid);
    row = rank / q, column = rank % q, n = N / q;
    MPI_Cart_sub(grid, (int[]){0, 1}, &along_row);
    MPI_Cart_sub(grid, (int[]){1, 0}, &along_column);
    a = malloc(sizeof *a * n * n), b = malloc(sizeof *b * n * n), c = calloc(n * n, sizeof *c);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (row * n + i) + (column * n + j);
            b[i * n + j] = (row * n + i) - (column * n + j);
        }
    int times = 8 * size;
    for (int t = 0; t < times; t++) {
        prepare(2 * MS);
        if (by_shifts)
            cannon();
        else
            summa();
    }
    double first = (N - 1) * N / 2., second = (N - 1) * N * (2. * N - 1) / 6, sum = 0; /* of k, and of its squares */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double x = row * n + i, y = column * n + j;
            ok = ok && near(c[i * n + j], times * (second + (x - y) * first - x * y * N), 1e-12);
            sum += c[i * n + j];
        }
    return verified(ok, rank ? 0 : c[0]);
}
