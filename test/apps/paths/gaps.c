/*
 * Computation of known lengths between MPI calls, for the mock's virtual clock. A line "time:" says how many
 * nanoseconds are charged to a function, as can be known from the stacks at the MPI calls alone; a line "exact:"
 * the same where every function says when it begins and ends, with how often that is.
 *
 *     time: main 1207
 *     time: main > f 444
 *
 *     exact: main 1150 in 0
 *     exact: main > f 390 in 3
 *     exact: main > f > g 90 in 3
 *     exact: main > f > h 21 in 3
 */
#include "../work.h"

#include <mpi.h>

static __attribute__((noinline)) void g(void)
{
    work_ns(10);
    MPI_Barrier(MPI_COMM_WORLD);
    work_ns(20);
}

static __attribute__((noinline)) void h(void)
{
    work_ns(7);
}

static __attribute__((noinline)) void f(void)
{
    work_ns(100);
    MPI_Barrier(MPI_COMM_WORLD);
    g();
    h();
    work_ns(30);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    work_ns(1000);
    for (int i = 0; i < 3; i++) {
        f();
        work_ns(50);
    }
    MPI_Finalize();
    return 0;
}
