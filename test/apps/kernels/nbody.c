/* Bodies that attract each other: all pass all ranks on a ring, and each rank adds up what they do to its own. */
#include "kernel.h"

enum { BODIES = 720 };

typedef struct {
    double x[3], m;
} body;

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", NULL};
    begin(argc, argv, known);
    int n = BODIES / ranks, left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    body *own = malloc(sizeof *own * n), *passing = malloc(sizeof *own * n), *next = malloc(sizeof *own * n);
    double (*v)[3] = calloc((size_t)n, sizeof *v), sum[4] = {0}, all[4];
    uint64_t seed = skip(314159265, 4ull * (uint64_t)n * (uint64_t)rank);
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++)
            own[i].x[d] = next_random(&seed);
        own[i].m = next_random(&seed) / BODIES;
    }
    for (int step = 0; step < 10 * size; step++) {
        prepare(3 * MS);
        memcpy(passing, own, sizeof *own * n);
        for (int turn = 0; turn < ranks; turn++) {
            MPI_Request r[2];
            MPI_Irecv(next, 4 * n, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]);
            MPI_Isend(passing, 4 * n, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
            compute(8 * MS / ranks);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    double d[3], square = 1e-4;
                    for (int k = 0; k < 3; k++) {
                        d[k] = passing[j].x[k] - own[i].x[k];
                        square += d[k] * d[k];
                    }
                    for (int k = 0; k < 3; k++)
                        v[i][k] += 1e-4 * passing[j].m * d[k] / (square * sqrt(square));
                }
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
            body *t = passing;
            passing = next, next = t;
        }
        compute(100 * US);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++)
                own[i].x[k] += 1e-4 * v[i][k];
    }
    for (int i = 0; i < n; i++) /* momentum stays what it was: none */
        for (int k = 0; k < 3; k++) {
            sum[k] += own[i].m * v[i][k];
            sum[3] += own[i].m * v[i][k] * v[i][k] / 2;
        }
    MPI_Allreduce(sum, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double energy = all[3];
    return verified(fabs(all[0]) + fabs(all[1]) + fabs(all[2]) < 1e-15 && energy > 0, energy * 1e8);
}
