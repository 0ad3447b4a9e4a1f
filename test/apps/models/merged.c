/*
 * Two pipelines through the same stages: a stage gets an item of each, works on both, and passes both on.
 *
 *   healthy       all stages take equally long
 *   slow-first    one stage takes twice as long over items of the first kind
 *   slow-second   over those of the second kind
 */
#include "model.h"

enum { FIRST = 1, SECOND = 2, ITEMS = 300 };

static double items[2][256];

static NOINLINE void first(uint64_t ns)
{
    work_for(ns);
}

static NOINLINE void second(uint64_t ns)
{
    work_for(ns);
}

static NOINLINE void stage(uint64_t one, uint64_t other)
{
    for (int kind = FIRST; rank > 0 && kind <= SECOND; kind++)
        MPI_Recv(items[kind - 1], 256, MPI_DOUBLE, rank - 1, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    first(one);
    second(other);
    for (int kind = FIRST; rank < ranks - 1 && kind <= SECOND; kind++)
        MPI_Ssend(items[kind - 1], 256, MPI_DOUBLE, rank + 1, kind, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow-first", "slow-second", NULL};
    begin(argc, argv, known);
    uint64_t one = 60 * US, other = 40 * US;
    if (ails("slow-first"))
        one = uneven(one, ranks / 2);
    if (ails("slow-second"))
        other = uneven(other, ranks / 2);
    for (int i = 0; i < ITEMS * size; i++)
        stage(one, other);
    return finish(ITEMS * (uint64_t)size * 100 * US);
}
