/*
 * SP, alternating directions (NAS), in the multi-partition scheme: q * q ranks have q cells each, of every slice of the
 * cube in each dimension one, so that all have work at each stage of a solve along a dimension.
 */
#include "kernel.h"

enum { N = 36, MOST = 6, AXES = 3 };
#define RATE 0.4

typedef struct {
    int at[AXES];
    double u[N / 2 + 2][N / 2 + 2][N / 2 + 2], r[N / 2 + 2][N / 2 + 2][N / 2 + 2], c[N / 2 + 2][N / 2 + 2][N / 2 + 2];
} cell;

static cell *cells;
static int q, n, successor[AXES], predecessor[AXES];

static double *value(double f[][N / 2 + 2][N / 2 + 2], int axis, int i, int j, int k) /* i along the axis */
{
    return axis == 0 ? &f[k][j][i] : axis == 1 ? &f[k][i][j] : &f[i][k][j];
}

static int layer(double f[][N / 2 + 2][N / 2 + 2], int axis, int place, double *b, int back)
{
    int m = 0;
    for (int k = 1; k <= n; k++)
        for (int j = 1; j <= n; j++, m++) {
            double *p = value(f, axis, place, j, k);
            *(back ? p : b + m) = back ? b[m] : *p;
        }
    return m;
}

/* Faces of all cells, with the ranks that have the next and the last cells in each dimension: six messages. */
static NOINLINE void copy_faces(void)
{
    static double out[2 * AXES][N * N * MOST], in[2 * AXES][N * N * MOST];
    MPI_Request r[4 * AXES];
    int active = 0, area = n * n;
    for (int side = 0; side < 2 * AXES; side++) { /* what goes up the axis, and down */
        int axis = side / 2, up = side % 2, m = 0;
        for (int c = 0; c < q; c++)
            if (cells[c].at[axis] != (up ? q - 1 : 0))
                m += layer(cells[c].u, axis, up ? n : 1, out[side] + m, 0);
        if (q > 1) {
            MPI_Irecv(in[side], area * q, MPI_DOUBLE, up ? predecessor[axis] : successor[axis], side, MPI_COMM_WORLD, &r[active++]);
            MPI_Isend(out[side], m, MPI_DOUBLE, up ? successor[axis] : predecessor[axis], side, MPI_COMM_WORLD, &r[active++]);
        }
    }
    MPI_Waitall(active, r, MPI_STATUSES_IGNORE);
    for (int side = 0; side < 2 * AXES; side++) { /* in the order of the sender's cells: by the z of the one beside */
        int axis = side / 2, up = side % 2, m = 0, z[MOST];
        for (int c = 0; c < q; c++)
            z[c] = cells[c].at[2] - (axis == 2 ? (up ? 1 : -1) : 0);
        for (int sender = 0; sender < q; sender++)
            for (int c = 0; c < q; c++)
                if (z[c] == sender && cells[c].at[axis] != (up ? 0 : q - 1))
                    m += layer(cells[c].u, axis, up ? 0 : n + 1, in[side] + m, 1);
    }
}

static NOINLINE void compute_rhs(void)
{
    copy_faces();
    compute(MS);
    for (cell *c = cells; c < cells + q; c++)
        for (int z = 1; z <= n; z++)
            for (int y = 1; y <= n; y++)
                for (int x = 1; x <= n; x++)
                    c->r[z][y][x] = RATE * (c->u[z][y][x - 1] + c->u[z][y][x + 1] + c->u[z][y - 1][x] + c->u[z][y + 1][x] +
                        c->u[z - 1][y][x] + c->u[z + 1][y][x] - 6 * c->u[z][y][x]);
}

/* Eliminates along an axis, cell after cell from its beginning, and substitutes from its end. */
static NOINLINE void solve(int axis)
{
    static double in[2 * N * N], out[2 * N * N];
    int area = n * n;
    MPI_Request r[2];
    for (int stage = 0; stage < 2 * q; stage++) {
        int forward = stage < q, slice = forward ? stage : 2 * q - 1 - stage;
        cell *c = cells;
        while (c->at[axis] != slice)
            c++;
        if (forward ? slice > 0 : slice < q - 1) {
            MPI_Irecv(in, 2 * area, MPI_DOUBLE, forward ? predecessor[axis] : successor[axis], 10 + axis, MPI_COMM_WORLD, &r[0]);
            compute(50 * US); /* what needs nothing from there */
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
            layer(c->r, axis, forward ? 0 : n + 1, in, 1);
            if (forward)
                layer(c->c, axis, 0, in + area, 1);
        } else
            for (int k = 1; k <= n; k++)
                for (int j = 1; j <= n; j++)
                    *value(c->r, axis, forward ? 0 : n + 1, j, k) = *value(c->c, axis, 0, j, k) = 0;
        compute(300.0 / q * US);
        for (int k = 1; k <= n; k++)
            for (int j = 1; j <= n; j++)
                for (int s = 1; s <= n; s++) {
                    int i = forward ? s : n + 1 - s;
                    double *p = value(c->r, axis, i, j, k), *e = value(c->c, axis, i, j, k);
                    if (forward) {
                        double pivot = 1 + 2 * RATE + RATE * *value(c->c, axis, i - 1, j, k);
                        *e = -RATE / pivot;
                        *p = (*p + RATE * *value(c->r, axis, i - 1, j, k)) / pivot;
                    } else
                        *p -= *e * *value(c->r, axis, i + 1, j, k);
                }
        r[1] = MPI_REQUEST_NULL;
        if (forward ? slice < q - 1 : slice > 0) {
            layer(c->r, axis, forward ? n : 1, out, 0);
            if (forward)
                layer(c->c, axis, n, out + area, 0);
            MPI_Isend(out, (forward ? 2 : 1) * area, MPI_DOUBLE, forward ? successor[axis] : predecessor[axis], 10 + axis,
                MPI_COMM_WORLD, &r[1]);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", NULL};
    begin(argc, argv, known);
    for (q = 1; q * q < ranks; q++)
        ;
    if (q * q != ranks || N % q || q > MOST) {
        fprintf(stderr, "%s: on a square of at most %d ranks\n", argv[0], MOST * MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    n = N / (q > 1 ? q : 2); /* on one rank, an eighth of the cube */
    int i = rank % q, j = rank / q, up = (i + 1) % q, down = (i + q - 1) % q, right = (j + 1) % q, left = (j + q - 1) % q;
    successor[0] = up + q * j, successor[1] = i + q * right, successor[2] = down + q * right;
    predecessor[0] = down + q * j, predecessor[1] = i + q * left, predecessor[2] = up + q * left;
    cells = calloc((size_t)q, sizeof *cells);
    for (int c = 0; c < q; c++) {
        cells[c].at[0] = (i + c) % q, cells[c].at[1] = (j + q - c) % q, cells[c].at[2] = c;
        for (int z = 1; z <= n; z++)
            for (int y = 1; y <= n; y++)
                for (int x = 1; x <= n; x++)
                    cells[c].u[z][y][x] = sin(M_PI * (cells[c].at[0] * n + x) / (q * n + 1)) * sin(M_PI * (cells[c].at[1] * n + y) / (q * n + 1)) *
                        sin(M_PI * (c * n + z) / (q * n + 1));
    }
    int steps = 20 * size;
    double worst = 0;
    /* A mode of the cube: each step multiplies it by the same number. */
    double lambda = 2 * RATE * (1 - cos(M_PI / (q * n + 1))), factor = 1 - 3 * lambda / pow(1 + lambda, 3);
    double before = cells[0].u[n][n][n];
    for (int step = 0; step < steps; step++) {
        prepare(MS);
        compute_rhs();
        for (int axis = 0; axis < AXES; axis++)
            solve(axis);
        for (cell *c = cells; c < cells + q; c++)
            for (int z = 1; z <= n; z++)
                for (int y = 1; y <= n; y++)
                    for (int x = 1; x <= n; x++)
                        c->u[z][y][x] += c->r[z][y][x];
        compute(100 * US);
    }
    worst = fabs(cells[0].u[n][n][n] / before - pow(factor, steps));
    return verified(worst < 1e-10, pow(factor, steps));
}
