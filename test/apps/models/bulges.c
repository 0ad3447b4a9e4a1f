/*
 * ScaLAPACK's PDLAHQR in outline, with its functions' names: what a bulge stands on is fetched, and the bulge chased;
 * the reflections that it makes are broadcast, and applied to the blocks of all ranks. All bulges are rank 0's, and what
 * every second one stands on is there already.
 *
 *   healthy   all ranks work equally long
 *   bulges    rank 0 takes 3 ms longer to chase each bulge
 *   blocks    rank 0 takes 2 ms longer to apply its reflections
 *   both
 */
#include "model.h"

enum { BULGE = 9, STEPS = 12 };

static double reflection[3];

static NOINLINE void BI_Srecv(int from)
{
    MPI_Recv(reflection, 3, MPI_DOUBLE, from, BULGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    reflection[0] += 1;
}

static NOINLINE void dgerv2d_(int from)
{
    BI_Srecv(from);
    reflection[2] += 1;
}

static NOINLINE void dgesd2d_(int to)
{
    MPI_Send(reflection, 3, MPI_DOUBLE, to, BULGE, MPI_COMM_WORLD);
    reflection[2] += 1;
}

/* All ranks make a datatype for each broadcast, as in BLACS. */
static NOINLINE void dgebs2d_(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(reflection, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

static NOINLINE void pdlacp3_(int far)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    if (far && rank > 0)
        dgerv2d_(0);
    for (int to = 1; far && rank == 0 && to < ranks; to++)
        dgesd2d_(to);
    MPI_Type_free(&type);
}

static NOINLINE void pdlahqr_(uint64_t chase, uint64_t apply)
{
    for (int step = 0; step < STEPS * size; step++) {
        pdlacp3_(step % 2 == 0);
        work_for(chase);
        dgebs2d_();
        work_for(apply);
    }
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "bulges", "blocks", "both", NULL};
    begin(argc, argv, known);
    uint64_t chase = MS, apply = 2 * MS;
    if (rank == 0 && (ails("bulges") || ails("both")))
        chase += 3 * MS;
    if (rank == 0 && (ails("blocks") || ails("both")))
        apply += 2 * MS;
    pdlahqr_(chase, apply);
    return finish(STEPS * (uint64_t)size * 3 * MS);
}
