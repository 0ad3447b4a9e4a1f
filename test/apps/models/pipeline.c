/*
 * A pipeline: each rank is a stage, through which items flow.
 *
 *   healthy        many items, every stage takes equally long
 *   slow-stage     one stage takes twice as long as the others
 *   coarse-grain   few, large items: the pipeline is hardly ever full
 *   fine-grain     the same work in far too many items
 *   drained        the pipeline is emptied after every few items
 */
#include "model.h"

enum { ITEM = 3, LARGEST = 1 << 16 };

static double item[LARGEST];
static int count = 512;

static NOINLINE void stage(uint64_t ns)
{
    if (rank > 0)
        MPI_Recv(item, count, MPI_DOUBLE, rank - 1, ITEM, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work_for(ns);
    if (rank < ranks - 1)
        MPI_Ssend(item, count, MPI_DOUBLE, rank + 1, ITEM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow-stage", "coarse-grain", "fine-grain", "drained", NULL};
    begin(argc, argv, known);
    int items = 360 * size, runs = 1;
    uint64_t all = 36 * MS * (uint64_t)size; /* of a stage */
    if (ails("coarse-grain"))
        items = ranks + 4;
    if (ails("fine-grain"))
        items *= 15, count = 4;
    if (ails("drained"))
        runs = items / (ranks + 4);
    uint64_t ns = all / (uint64_t)items;
    if (ails("slow-stage"))
        ns = uneven(ns, ranks / 2);
    for (int run = 0; run < runs; run++) {
        for (int i = 0; i < items / runs; i++)
            stage(ns);
        if (runs > 1)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish(all);
}
