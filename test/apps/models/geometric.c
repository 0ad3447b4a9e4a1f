/*
 * Geometric decomposition: every rank has a piece of a field and exchanges its rim with its neighbours each step.
 *
 *   healthy      equal pieces, exchanged all at once
 *   imbalance    one rank has twice the cells
 *   serial       neighbours exchange one after the other, from the first rank to the last
 *   tiny         the rim is sent cell by cell
 *   surface      pieces so thin that their rims are as large as they are
 */
#include "model.h"

enum { LARGEST = 1 << 19 };

static double out[2][LARGEST], in[2][LARGEST];

static NOINLINE void update(uint64_t ns)
{
    work_for(ns);
}

static NOINLINE void exchange(int count)
{
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request r[4];
    MPI_Irecv(in[0], count, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in[1], count, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(out[1], count, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(out[0], count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static NOINLINE void exchange_in_turn(int count)
{
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Recv(in[0], count, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(out[1], count, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
    MPI_Recv(in[1], count, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(out[0], count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "imbalance", "serial", "tiny", "surface", NULL};
    begin(argc, argv, known);
    int steps = 50 * size, count = 4096;
    uint64_t ns = 200 * US, mine = ails("imbalance") ? uneven(ns, ranks / 3) : ns;
    if (ails("surface"))
        count = LARGEST / 2;
    for (int s = 0; s < steps; s++) {
        update(mine);
        if (ails("serial"))
            exchange_in_turn(count);
        else if (ails("tiny"))
            for (int part = 0; part < 100; part++)
                exchange(count / 100);
        else
            exchange(count);
    }
    return finish(ns * (uint64_t)steps);
}
