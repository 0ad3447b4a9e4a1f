/*
 * Dynamic processes: the ranks start two more, exchange a message with each and take leave of them.
 *
 *     spawn COMMAND [ARGUMENT...]    what to start; without, this is one of those that were started
 */
#include "host.h"

enum { CHILDREN = 2 };

static void parent(char **command)
{
    MPI_Comm children;
    int rank, value;
    int errors[CHILDREN];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    steps(MANY);
    expect(!MPI_Comm_spawn(command[0], command[1] ? command + 1 : MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors),
           "MPI_Comm_spawn");
    for (int i = 0; rank == 0 && i < CHILDREN; i++) {
        MPI_Recv(&value, 1, MPI_INT, i, 0, children, MPI_STATUS_IGNORE);
        expect(value == 100 + i, "child %d sent %d", i, value);
    }
    MPI_Comm_disconnect(&children);
}

static void child(MPI_Comm parents)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    steps(MANY / 2);
    int value = 100 + rank;
    MPI_Send(&value, 1, MPI_INT, 0, 0, parents);
    MPI_Comm_disconnect(&parents);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        child(parents);
    else
        parent(argv + 1);
    MPI_Finalize();
    return verdict();
}
