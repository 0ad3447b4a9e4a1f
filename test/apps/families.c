/*
 * Two regions that families of implementations may stand for: A takes 2 ms five times, B a hundredth of that.
 * It changes its directory before it ends, as programs do.
 */
#include <marple.h>
#include <mpi.h>
#include <unistd.h>

#include "work.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++) {
        marple_region_begin("A");
        work_ns(2000000);
        marple_region_end("A");
        marple_region_begin("B");
        work_ns(20000);
        marple_region_end("B");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    int failed = chdir("/");
    MPI_Finalize();
    return failed;
}
