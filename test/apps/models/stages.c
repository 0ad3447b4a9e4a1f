/*
 * A pipeline of three stages, each a farm: its master gets an item, hands out its parts, and passes the item on.
 *
 *   healthy       every stage takes equally long
 *   slow-master   the masters take long over each part's result
 */
#include "model.h"

enum { ITEM = 1, PART = 2, RESULT = 3, STAGES = 3, PARTS = 12, ITEMS = 30 };

static int team, first; /* ranks of a stage, and its master */
static double item[64];

static NOINLINE void farm(uint64_t handling)
{
    int part = 1;
    for (int given = 0, back = 0; back < PARTS;) {
        if (given < PARTS && given < team - 1) {
            MPI_Send(&part, 1, MPI_INT, first + 1 + given++, PART, MPI_COMM_WORLD);
            continue;
        }
        MPI_Status status;
        MPI_Recv(&part, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        work_for(handling);
        back++;
        if (given++ < PARTS)
            MPI_Send(&part, 1, MPI_INT, status.MPI_SOURCE, PART, MPI_COMM_WORLD);
    }
}

static NOINLINE void stage(uint64_t handling)
{
    if (first > 0)
        MPI_Recv(item, 64, MPI_DOUBLE, first - team, ITEM, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    farm(handling);
    if (first + team < ranks)
        MPI_Send(item, 64, MPI_DOUBLE, first + team, ITEM, MPI_COMM_WORLD);
}

static NOINLINE void worker(uint64_t ns)
{
    for (;;) {
        int part;
        MPI_Recv(&part, 1, MPI_INT, first, PART, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!part)
            break;
        work_for(ns);
        MPI_Send(&part, 1, MPI_INT, first, RESULT, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow-master", NULL};
    begin(argc, argv, known);
    team = ranks / STAGES;
    first = rank / team * team;
    if (rank > first)
        worker(200 * US);
    else {
        for (int i = 0; i < ITEMS * size; i++)
            stage(ails("slow-master") ? 150 * US : 2 * US);
        for (int w = 1, none = 0; w < team; w++)
            MPI_Send(&none, 1, MPI_INT, first + w, PART, MPI_COMM_WORLD);
    }
    return finish(ITEMS * (uint64_t)size * PARTS * 200 * US / (uint64_t)(team - 1));
}
