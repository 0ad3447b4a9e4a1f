/*
 * For the real TAU: a clock of the program's own, as TAU_METRICS=TIME:USER_CLOCK has it, goes on by 100 in "outer" and by 10
 * in "inner", and in "back" goes back. And TAU_DB_DUMP(),
 * and a trigger that hands over what only its own plugin could read.
 */
#include <TAU.h>
#include <mpi.h>

static double now;

static void pass(double ticks)
{
    now += ticks;
    TAU_SET_USER_CLOCK(now)
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    TAU_PROFILE_SET_NODE(me);
    for (int i = 0; i < 4; i++) {
        TAU_START("outer");
        pass(100 + me);
        TAU_START("inner");
        pass(10);
        TAU_STOP("inner");
        TAU_STOP("outer");
    }
    TAU_START("back");
    pass(-5);
    TAU_STOP("back");
    TAU_TRIGGER(TAU_CREATE_TRIGGER("step"), (void *)8);
    TAU_DB_DUMP();
    MPI_Finalize();
    return 0;
}
