/*
 * LU, symmetric successive over-relaxation (NAS): each rank has a column of the cube. The lower sweep goes from one corner
 * of the grid of ranks to the opposite one, plane by plane, the upper one back; then the residual needs the faces.
 *
 *   coarse  a sweep goes in two blocks of planes
 *   fine    edges of planes are passed on point by point
 */
#include "kernel.h"

enum { N = 24, M = 5 };
#define OMEGA 1.2

static int width, height, column, row, nx, ny;
static double *u, *r, *f, edge[2][N * N * M];

static double *at(double *v, int x, int y, int z)
{
    return v + (((size_t)(z + 1) * (ny + 2) + y + 1) * (nx + 2) + x + 1) * M;
}

static int rank_at(int x, int y)
{
    return x < 0 || y < 0 || x >= width || y >= height ? MPI_PROC_NULL : y * width + x;
}

/* Copies the edge of some planes of r, at a place in x or y, to a buffer or back. */
static void copy(int side, int place, int z, int planes, int back)
{
    int n = side ? nx : ny;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < planes; k++) {
            double *e = edge[side] + (i * planes + k) * M, *p = side ? at(r, i, place, z + k) : at(r, place, i, z + k);
            memcpy(back ? p : e, back ? e : p, M * sizeof *e);
        }
}

/* What comes in from the ranks that a sweep comes from, or goes out to those behind: blocking, edge by edge. */
static NOINLINE void exchange_1(int z, int planes, int d, int out)
{
    int toward = out ? d : -d;
    for (int side = 0; side < 2; side++) {
        int other = side ? rank_at(column, row + toward) : rank_at(column + toward, row), last = side ? ny : nx;
        if (other == MPI_PROC_NULL)
            continue;
        int n = side ? nx : ny, count = (ails("fine") ? 1 : n) * planes * M;
        if (out)
            copy(side, toward > 0 ? last - 1 : 0, z, planes, 0);
        for (int i = 0; i < n * planes * M; i += count)
            if (out)
                MPI_Send(edge[side] + i, count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
            else
                MPI_Recv(edge[side] + i, count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!out)
            copy(side, toward > 0 ? last : -1, z, planes, 1);
    }
}

/* Faces of u, with the neighbours on both sides. */
static NOINLINE void exchange_3(int side)
{
    int before = side ? rank_at(column, row - 1) : rank_at(column - 1, row);
    int behind = side ? rank_at(column, row + 1) : rank_at(column + 1, row);
    int n = side ? nx : ny, other[2] = {before, behind};
    for (int d = 0; d < 2; d++) { /* what goes one way, then what goes the other */
        int from = other[d], to = other[1 - d], in = d ? (side ? ny : nx) : -1, out = d ? 0 : (side ? ny : nx) - 1;
        MPI_Request q = MPI_REQUEST_NULL;
        if (from != MPI_PROC_NULL)
            MPI_Irecv(edge[0], N * n * M, MPI_DOUBLE, from, 3, MPI_COMM_WORLD, &q);
        if (to != MPI_PROC_NULL) {
            for (int z = 0; z < N; z++)
                for (int i = 0; i < n; i++)
                    memcpy(edge[1] + (z * n + i) * M, side ? at(u, i, out, z) : at(u, out, i, z), M * sizeof(double));
            MPI_Send(edge[1], N * n * M, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);
        }
        if (from == MPI_PROC_NULL)
            continue;
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int z = 0; z < N; z++)
            for (int i = 0; i < n; i++)
                memcpy(side ? at(u, i, in, z) : at(u, in, i, z), edge[0] + (z * n + i) * M, M * sizeof(double));
    }
}

/* A sweep through some planes: blts forward, buts backward. */
static NOINLINE void planes(int z, int count, int d)
{
    int forward = d > 0;
    exchange_1(z, count, d, 0);
    compute(count * 40 * US);
    for (int k = forward ? z : z + count - 1; k >= z && k < z + count; k += d)
        for (int y = forward ? 0 : ny - 1; y >= 0 && y < ny; y += d)
            for (int x = forward ? 0 : nx - 1; x >= 0 && x < nx; x += d)
                for (int m = 0; m < M; m++) {
                    double sum = at(r, x - d, y, k)[m] + at(r, x, y - d, k)[m] + at(r, x, y, k - d)[m];
                    double *p = at(r, x, y, k) + m;
                    *p = forward ? (*p + OMEGA * sum) / 6 : *p + OMEGA * sum / 6;
                }
    exchange_1(z, count, d, 1);
}

static NOINLINE double rhs(void)
{
    exchange_3(0);
    exchange_3(1);
    compute(300 * US);
    double sum = 0;
    for (int z = 0; z < N; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++)
                for (int m = 0; m < M; m++) {
                    double v = at(f, x, y, z)[m] - 6 * at(u, x, y, z)[m] + at(u, x - 1, y, z)[m] + at(u, x + 1, y, z)[m] +
                        at(u, x, y - 1, z)[m] + at(u, x, y + 1, z)[m] + at(u, x, y, z - 1)[m] + at(u, x, y, z + 1)[m];
                    at(r, x, y, z)[m] = v;
                    sum += v * v;
                }
    return sum;
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", "coarse", "fine", NULL};
    begin(argc, argv, known);
    width = grid_width(), height = ranks / width;
    column = rank % width, row = rank / width;
    nx = N / width, ny = N / height;
    size_t all = (size_t)(nx + 2) * (ny + 2) * (N + 2) * M;
    u = calloc(all, sizeof *u), r = calloc(all, sizeof *r), f = calloc(all, sizeof *f);
    for (int z = 0; z < N; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++)
                for (int m = 0; m < M; m++)
                    at(f, x, y, z)[m] = sin(m + column * nx + x) * cos(row * ny + y) + z % 3;
    double sum = rhs(), begun, norm;
    MPI_Allreduce(&sum, &begun, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int block = ails("coarse") ? N / 2 : 1, steps = 20 * size;
    for (int step = 0; step < steps; step++) {
        prepare(MS);
        for (int z = 0; z < N; z += block)
            planes(z, block, 1);
        for (int z = N - block; z >= 0; z -= block)
            planes(z, block, -1);
        for (int z = 0; z < N; z++)
            for (int y = 0; y < ny; y++)
                for (int x = 0; x < nx; x++)
                    for (int m = 0; m < M; m++)
                        at(u, x, y, z)[m] += OMEGA * (2 - OMEGA) * at(r, x, y, z)[m];
        compute(100 * US);
        sum = rhs();
    }
    MPI_Allreduce(&sum, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return verified(size > 1 || near(sqrt(norm / begun), 0.218721021, 1e-8), sqrt(norm / begun));
}
