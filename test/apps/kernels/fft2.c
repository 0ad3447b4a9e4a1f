/* A two-dimensional Fourier transform, forth and back: rows are transformed, the matrix transposed, rows transformed. */
#include "kernel.h"

#include <complex.h>

typedef double complex number;

enum { N = 256 };

static void fft(number *x, int n, double sign)
{
    if (n == 1)
        return;
    number even[n / 2], odd[n / 2];
    for (int i = 0; i < n / 2; i++)
        even[i] = x[2 * i], odd[i] = x[2 * i + 1];
    fft(even, n / 2, sign);
    fft(odd, n / 2, sign);
    for (int i = 0; i < n / 2; i++) {
        number t = cexp(sign * 2 * M_PI * I * i / n) * odd[i];
        x[i] = even[i] + t, x[i + n / 2] = even[i] - t;
    }
}

static NOINLINE void transpose(number *x, number *t)
{
    int rows = N / ranks, part = rows * rows;
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                t[r * part + j * rows + i] = x[i * N + r * rows + j];
    MPI_Alltoall(t, part, MPI_C_DOUBLE_COMPLEX, x, part, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    memcpy(t, x, sizeof *t * rows * N);
    for (int r = 0; r < ranks; r++)
        for (int j = 0; j < rows; j++)
            memcpy(x + j * N + r * rows, t + r * part + j * rows, sizeof *x * rows);
}

static NOINLINE void transform(number *x, number *t, double sign)
{
    for (int way = 0; way < 2; way++) {
        compute(2 * MS);
        for (int i = 0; i < N / ranks; i++)
            fft(x + i * N, N, sign);
        transpose(x, t);
    }
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", NULL};
    begin(argc, argv, known);
    int rows = N / ranks, ok = 1;
    number *x = malloc(sizeof *x * rows * N), *t = malloc(sizeof *t * rows * N);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < N; j++)
            x[i * N + j] = cexp(2 * M_PI * I * (3 * (rank * rows + i) + 5 * j) / N);
    for (int step = 0; step < 10 * size; step++) {
        prepare(2 * MS);
        transform(x, t, -1);
        for (int i = 0; i < rows; i++) /* it is one wave */
            for (int j = 0; j < N; j++)
                ok = ok && cabs(x[i * N + j] - (rank * rows + i == 3 && j == 5 ? N * N : 0)) < 1e-6;
        transform(x, t, 1);
        for (int i = 0; i < rows * N; i++)
            x[i] /= N * N;
    }
    return verified(ok, creal(x[0]));
}
