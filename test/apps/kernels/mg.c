/*
 * MG, multigrid (NAS): V-cycles over periodic cubes of which each rank has a box; on every level faces are exchanged
 * with the neighbours, one dimension after the other.
 *
 *   levels  so many levels that on most of them messages are tiny: cycles that stay on the coarse levels
 */
#include "kernel.h"

enum { LEVELS = 4, FINEST = 32 };

typedef struct {
    int n[3]; /* points in each dimension, with a layer of others' around */
    double *u, *r, *v;
} grid;

static grid level[LEVELS];
static int neighbour[3][2], ranks_in[3];
static const double a[4] = {-8 / 3., 0, 1 / 6., 1 / 12.}, c[4] = {-3 / 8., 1 / 32., -1 / 64., 0};
static double buffer[4][(FINEST + 2) * (FINEST + 2)];

static double *at(const grid *g, double *f, int x, int y, int z)
{
    return f + ((size_t)z * (g->n[1] + 2) + y) * (g->n[0] + 2) + x;
}

/* Copies the layer at a place to a buffer, or back. */
static int face(const grid *g, double *f, int axis, int place, double *b, int back)
{
    int at3[3], n = 0, j = (axis + 1) % 3, k = (axis + 2) % 3;
    at3[axis] = place;
    for (at3[k] = 0; at3[k] < g->n[k] + 2; at3[k]++)
        for (at3[j] = 0; at3[j] < g->n[j] + 2; at3[j]++, n++) {
            double *p = at(g, f, at3[0], at3[1], at3[2]);
            *(back ? p : b + n) = back ? b[n] : *p;
        }
    return n;
}

static NOINLINE void ready(int axis, int side, MPI_Request *r)
{
    MPI_Irecv(buffer[side], sizeof buffer[0] / sizeof buffer[0][0], MPI_DOUBLE, neighbour[axis][side], 10 * axis + 1 - side,
        MPI_COMM_WORLD, r);
}

static NOINLINE void give3(const grid *g, double *f, int axis, int side)
{
    int n = face(g, f, axis, side ? g->n[axis] : 1, buffer[2 + side], 0);
    MPI_Send(buffer[2 + side], n, MPI_DOUBLE, neighbour[axis][side], 10 * axis + side, MPI_COMM_WORLD);
}

static NOINLINE void take3(const grid *g, double *f, int axis, int side, MPI_Request *r)
{
    MPI_Wait(r, MPI_STATUS_IGNORE);
    face(g, f, axis, side ? g->n[axis] + 1 : 0, buffer[side], 1);
}

static NOINLINE void comm3(const grid *g, double *f)
{
    for (int axis = 0; axis < 3; axis++)
        if (ranks_in[axis] > 1) {
            MPI_Request r[2];
            ready(axis, 0, &r[0]);
            ready(axis, 1, &r[1]);
            give3(g, f, axis, 1);
            give3(g, f, axis, 0);
            take3(g, f, axis, 0, &r[0]);
            take3(g, f, axis, 1, &r[1]);
        } else
            for (int side = 0; side < 2; side++) {
                face(g, f, axis, side ? 1 : g->n[axis], buffer[0], 0);
                face(g, f, axis, side ? g->n[axis] + 1 : 0, buffer[0], 1);
            }
}

static double around(const grid *g, double *f, int x, int y, int z, const double w[4])
{
    double sum = 0;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            for (int k = -1; k <= 1; k++)
                sum += w[abs(i) + abs(j) + abs(k)] * *at(g, f, x + i, y + j, z + k);
    return sum;
}

#define EACH(g, step) for (int z = 1; z <= (g)->n[2]; z += step) for (int y = 1; y <= (g)->n[1]; y += step) for (int x = 1; x <= (g)->n[0]; x += step)

static double points(const grid *g)
{
    return (double)g->n[0] * g->n[1] * g->n[2] * ranks;
}

static NOINLINE void resid(grid *g, double *v)
{
    EACH(g, 1) *at(g, g->r, x, y, z) = *at(g, v, x, y, z) - around(g, g->u, x, y, z, a);
    compute(30 * points(g));
    comm3(g, g->r);
}

static NOINLINE void psinv(grid *g)
{
    EACH(g, 1) *at(g, g->u, x, y, z) += around(g, g->r, x, y, z, c);
    compute(30 * points(g));
    comm3(g, g->u);
}

static NOINLINE void rprj3(grid *fine, grid *coarse)
{
    static const double w[4] = {1 / 2., 1 / 4., 1 / 8., 1 / 16.};
    EACH(coarse, 1) *at(coarse, coarse->v, x, y, z) = around(fine, fine->r, 2 * x - 1, 2 * y - 1, 2 * z - 1, w);
    compute(30 * points(coarse));
}

static NOINLINE void interp(grid *coarse, grid *fine)
{
    EACH(fine, 1)
    {
        double sum = 0;
        for (int corner = 0; corner < 8; corner++)
            sum += *at(coarse, coarse->u, (x + 1 + (corner & 1)) / 2, (y + 1 + (corner >> 1 & 1)) / 2, (z + 1 + (corner >> 2)) / 2) / 8;
        *at(fine, fine->u, x, y, z) += sum;
    }
    compute(10 * points(fine));
    comm3(fine, fine->u);
}

static void cycle(int l)
{
    grid *g = &level[l];
    if (l == 0) {
        memcpy(g->r, g->v, sizeof(double) * (g->n[0] + 2) * (g->n[1] + 2) * (g->n[2] + 2));
        comm3(g, g->r);
        psinv(g);
        return;
    }
    grid *below = &level[l - 1];
    rprj3(g, below);
    memset(below->u, 0, sizeof(double) * (below->n[0] + 2) * (below->n[1] + 2) * (below->n[2] + 2));
    if (l > 1) {
        memcpy(below->r, below->v, sizeof(double) * (below->n[0] + 2) * (below->n[1] + 2) * (below->n[2] + 2));
        comm3(below, below->r);
    }
    cycle(l - 1);
    for (int again = 0; ails("levels") && l < LEVELS - 1 && again < 8; again++) {
        resid(below, below->v);
        psinv(below);
    }
    interp(below, g);
    resid(g, g->v);
    psinv(g);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", "levels", NULL};
    begin(argc, argv, known);
    int place[3] = {0}, periods[3] = {1, 1, 1}, first[3];
    MPI_Comm cube;
    MPI_Dims_create(ranks, 3, ranks_in);
    MPI_Cart_create(MPI_COMM_WORLD, 3, ranks_in, periods, 0, &cube);
    MPI_Cart_coords(cube, rank, 3, place);
    for (int d = 0; d < 3; d++)
        MPI_Cart_shift(cube, d, 1, &neighbour[d][0], &neighbour[d][1]);
    for (int l = 0; l < LEVELS; l++) {
        size_t all = 1;
        for (int d = 0; d < 3; d++) {
            level[l].n[d] = (FINEST >> (LEVELS - 1 - l)) / ranks_in[d];
            all *= (size_t)level[l].n[d] + 2;
        }
        level[l].u = calloc(all, sizeof(double));
        level[l].r = calloc(all, sizeof(double));
        level[l].v = calloc(all, sizeof(double));
    }
    grid *top = &level[LEVELS - 1];
    for (int d = 0; d < 3; d++)
        first[d] = place[d] * top->n[d];
    for (int charge = 0; charge < 20; charge++) { /* ten of each sign */
        int p[3] = {(charge * 7 + 3) % FINEST - first[0], (charge * 13 + 5) % FINEST - first[1], (charge * 5 + 11) % FINEST - first[2]};
        if (p[0] >= 0 && p[1] >= 0 && p[2] >= 0 && p[0] < top->n[0] && p[1] < top->n[1] && p[2] < top->n[2])
            *at(top, top->v, p[0] + 1, p[1] + 1, p[2] + 1) = charge < 10 ? -1 : 1;
    }
    double norm = 0, begun = 0;
    for (int step = 0; step < 4 * size; step++) {
        prepare(5 * MS);
        resid(top, top->v);
        if (step == 0) {
            double sum = 0;
            EACH(top, 1) sum += pow(*at(top, top->r, x, y, z), 2);
            MPI_Allreduce(&sum, &begun, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        cycle(LEVELS - 1);
    }
    resid(top, top->v);
    double sum = 0;
    EACH(top, 1) sum += pow(*at(top, top->r, x, y, z), 2);
    MPI_Allreduce(&sum, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return verified(sqrt(norm / begun) < 0.01, sqrt(norm));
}
