/*
 * Particle transport (Sweep3D, SNAP): a cube of cells on a grid of ranks is swept from each of its eight corners, by blocks
 * of angles and planes.
 *
 *   coarse  blocks are whole sweeps
 *   fine    blocks are one plane and one angle
 */
#include "kernel.h"

enum { N = 24, ANGLES = 6 };
#define SIGMA 1.0
#define SCATTERED 0.5

static int width, height, column, row, nx, ny;
static double *flux, *source, left_over; /* what leaves the cube */
static double east[ANGLES][N][N], north[ANGLES][N][N], top[ANGLES][N][N];
static const double mu[ANGLES] = {0.9, 0.7, 0.5, 0.3, 0.2, 0.6}, eta[ANGLES] = {0.3, 0.5, 0.2, 0.9, 0.7, 0.6}, xi[ANGLES] = {0.32, 0.5, 0.84, 0.31, 0.69, 0.53};

static int rank_at(int x, int y)
{
    return x < 0 || y < 0 || x >= width || y >= height ? MPI_PROC_NULL : y * width + x;
}

static void pass(double f[][N][N], int n, int first, int angles, int z, int planes, int other, int out)
{
    static double b[ANGLES * N * N];
    int count = angles * planes * n;
    if (other == MPI_PROC_NULL)
        return;
    if (!out)
        MPI_Recv(b, count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int a = 0, i = 0; a < angles; a++)
        for (int k = 0; k < planes; k++, i += n)
            memcpy(out ? b + i : f[first + a][z + k], out ? f[first + a][z + k] : b + i, sizeof *b * (size_t)n);
    if (out)
        MPI_Send(b, count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
}

static NOINLINE void block(int dx, int dy, int dz, int first, int angles, int z, int planes)
{
    pass(east, ny, first, angles, z, planes, rank_at(column - dx, row), 0);
    pass(north, nx, first, angles, z, planes, rank_at(column, row - dy), 0);
    compute(10.0 * US * angles * planes);
    for (int a = first; a < first + angles; a++) {
        double cx = 2 * mu[a], cy = 2 * eta[a], cz = 2 * xi[a], w = 1.0 / (8 * ANGLES);
        for (int k = 0; k < planes; k++)
            for (int j = 0; j < ny; j++)
                for (int i = 0; i < nx; i++) {
                    int x = dx > 0 ? i : nx - 1 - i, y = dy > 0 ? j : ny - 1 - j, at = dz > 0 ? z + k : N - 1 - z - k;
                    double *e = &east[a][z + k][y], *n = &north[a][z + k][x], *t = &top[a][y][x];
                    double psi = (source[(at * ny + y) * nx + x] + cx * *e + cy * *n + cz * *t) / (SIGMA + cx + cy + cz);
                    *e = 2 * psi - *e, *n = 2 * psi - *n, *t = 2 * psi - *t;
                    flux[(at * ny + y) * nx + x] += w * psi;
                    left_over += w * ((i == nx - 1 && rank_at(column + dx, row) == MPI_PROC_NULL) * mu[a] * *e +
                        (j == ny - 1 && rank_at(column, row + dy) == MPI_PROC_NULL) * eta[a] * *n + (z + k == N - 1) * xi[a] * *t);
                }
    }
    pass(east, ny, first, angles, z, planes, rank_at(column + dx, row), 1);
    pass(north, nx, first, angles, z, planes, rank_at(column, row + dy), 1);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", "coarse", "fine", NULL};
    begin(argc, argv, known);
    width = grid_width(), height = ranks / width;
    column = rank % width, row = rank / width;
    nx = N / width, ny = N / height;
    int cells = nx * ny * N, planes = ails("coarse") ? N : ails("fine") ? 1 : 4, angles = ails("coarse") ? ANGLES : ails("fine") ? 1 : 3;
    flux = calloc((size_t)cells, sizeof *flux), source = malloc(sizeof *source * (size_t)cells);
    double total[3] = {0};
    int ok = 1;
    for (int step = 0; step < 5 * size; step++) {
        double sum[3] = {0};
        prepare(3 * MS);
        for (int i = 0; i < cells; i++) {
            source[i] = 1 + SCATTERED * flux[i];
            sum[0] += source[i];
        }
        memset(flux, 0, sizeof *flux * (size_t)cells);
        left_over = 0;
        for (int octant = 0; octant < 8; octant++) {
            memset(top, 0, sizeof top);
            memset(east, 0, sizeof east);
            memset(north, 0, sizeof north);
            for (int first = 0; first < ANGLES; first += angles)
                for (int z = 0; z < N; z += planes)
                    block(octant & 1 ? -1 : 1, octant & 2 ? -1 : 1, octant & 4 ? -1 : 1, first, angles, z, planes);
        }
        for (int i = 0; i < cells; i++)
            sum[1] += SIGMA * flux[i];
        sum[2] = left_over;
        MPI_Allreduce(sum, total, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        ok = ok && near(total[1] + total[2], total[0], 1e-10); /* nothing is lost */
    }
    return verified(ok, total[1]);
}
