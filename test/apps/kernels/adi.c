/*
 * Alternating directions on strips: each rank has some rows of a plane. Along rows every rank solves by itself; along
 * columns a solve goes through all ranks, block of columns after block of columns, and back.
 *
 *   coarse  all columns are one block
 *   fine    every column is one
 */
#include "kernel.h"

enum { N = 96 };
#define RATE 0.4

static int rows, up, down;
static double u[N + 2][N + 2], r[N + 2][N + 2], c[N + 2][N + 2];

static NOINLINE void residual(void)
{
    MPI_Sendrecv(u[1], N + 2, MPI_DOUBLE, up, 1, u[rows + 1], N + 2, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u[rows], N + 2, MPI_DOUBLE, down, 2, u[0], N + 2, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(500 * US);
    for (int y = 1; y <= rows; y++)
        for (int x = 1; x <= N; x++)
            r[y][x] = RATE * (u[y][x - 1] + u[y][x + 1] + u[y - 1][x] + u[y + 1][x] - 4 * u[y][x]);
}

static NOINLINE void along_rows(void)
{
    compute(MS);
    for (int y = 1; y <= rows; y++) {
        double e[N + 2] = {0};
        for (int x = 1; x <= N; x++) {
            double pivot = 1 + 2 * RATE + RATE * e[x - 1];
            e[x] = -RATE / pivot;
            r[y][x] = (r[y][x] + (x > 1 ? RATE * r[y][x - 1] : 0)) / pivot;
        }
        for (int x = N - 1; x >= 1; x--)
            r[y][x] -= e[x] * r[y][x + 1];
    }
}

/* Rows of r and c, from the rank above, and to the one below. */
static NOINLINE void forward(int x, int columns)
{
    double in[2][N] = {{0}}, out[2][N];
    MPI_Recv(in, 2 * N, MPI_DOUBLE, up, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memcpy(r[0] + x, in[0], sizeof(double) * (size_t)columns);
    memcpy(c[0] + x, in[1], sizeof(double) * (size_t)columns);
    compute(1.5 * MS * columns / N);
    for (int y = 1; y <= rows; y++)
        for (int i = x; i < x + columns; i++) {
            double pivot = 1 + 2 * RATE + RATE * c[y - 1][i];
            c[y][i] = -RATE / pivot;
            r[y][i] = (r[y][i] + RATE * r[y - 1][i]) / pivot;
        }
    memcpy(out[0], r[rows] + x, sizeof(double) * (size_t)columns);
    memcpy(out[1], c[rows] + x, sizeof(double) * (size_t)columns);
    MPI_Send(out, 2 * N, MPI_DOUBLE, down, 3, MPI_COMM_WORLD);
}

static NOINLINE void backward(int x, int columns)
{
    memset(r[rows + 1] + x, 0, sizeof(double) * (size_t)columns);
    MPI_Recv(r[rows + 1] + x, columns, MPI_DOUBLE, down, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(MS * columns / N);
    for (int y = rows; y >= 1; y--)
        for (int i = x; i < x + columns; i++)
            r[y][i] -= c[y][i] * r[y + 1][i];
    MPI_Send(r[1] + x, columns, MPI_DOUBLE, up, 4, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", "coarse", "fine", NULL};
    begin(argc, argv, known);
    rows = N / ranks;
    up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    for (int y = 1; y <= rows; y++)
        for (int x = 1; x <= N; x++)
            u[y][x] = sin(M_PI * x / (N + 1)) * sin(M_PI * (rank * rows + y) / (N + 1));
    int steps = 20 * size, columns = ails("coarse") ? N : ails("fine") ? 1 : 4;
    double lambda = 2 * RATE * (1 - cos(M_PI / (N + 1))), factor = 1 - 2 * lambda / pow(1 + lambda, 2), before = u[1][N / 2];
    for (int step = 0; step < steps; step++) {
        prepare(MS);
        residual();
        along_rows();
        for (int x = 1; x <= N; x += columns)
            forward(x, columns);
        for (int x = 1; x <= N; x += columns)
            backward(x, columns);
        for (int y = 1; y <= rows; y++)
            for (int x = 1; x <= N; x++)
                u[y][x] += r[y][x];
    }
    return verified(fabs(u[1][N / 2] / before - pow(factor, steps)) < 1e-10, pow(factor, steps));
}
