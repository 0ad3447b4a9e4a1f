/*
 * Bulk-synchronous steps: compute, then all communicate together.
 *
 *   healthy      equal work, one short reduction a step
 *   imbalance    one rank computes twice as long
 *   dear         a large exchange of all with all
 *   often        a reduction after every bit of work
 *   serial       one rank computes alone while all others wait for what it says
 *   shared       healthy too: all ranks compute a part of that
 */
#include "model.h"

enum { LARGEST = 1 << 13 };

static double *all_out, *all_in;

static NOINLINE void compute(uint64_t ns)
{
    work_for(ns);
}

static NOINLINE void reduce(void)
{
    double mine = rank, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static NOINLINE void transpose(void)
{
    MPI_Alltoall(all_out, LARGEST, MPI_DOUBLE, all_in, LARGEST, MPI_DOUBLE, MPI_COMM_WORLD);
}

static NOINLINE void decide(uint64_t ns)
{
    double what[8] = {0};
    if (ails("shared"))
        work_for(ns / (uint64_t)ranks);
    else if (rank == 0)
        work_for(ns);
    MPI_Bcast(what, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "imbalance", "dear", "often", "serial", "shared", NULL};
    begin(argc, argv, known);
    int steps = 100 * size;
    uint64_t ns = 80 * US, ideal = ns * (uint64_t)steps;
    all_out = calloc((size_t)ranks * LARGEST, sizeof *all_out);
    all_in = calloc((size_t)ranks * LARGEST, sizeof *all_in);
    if (ails("imbalance"))
        ns = uneven(ns, ranks - 1);
    if (ails("often"))
        steps *= 40, ns /= 40;
    for (int s = 0; s < steps; s++) {
        compute(ns);
        if (ails("dear"))
            transpose();
        if (ails("serial") || ails("shared"))
            decide(ns);
        reduce();
    }
    return finish(ideal);
}
