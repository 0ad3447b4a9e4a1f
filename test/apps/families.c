/*
 * Two regions that families of implementations may stand for: A takes 2 ms five times, B a hundredth of that.
 * With an argument, it declares what can take their place, each rank something else. It changes its directory
 * before it ends, as programs do.
 */
#include <marple.h>
#include <mpi.h>
#include <unistd.h>

#include "work.h"

int main(int argc, char **argv)
{
    static const char *const declarations[] = {
        "families: {A: {implementations: {A1: {measured: yes, qualities: {accuracy: 1}}}}}",
        "{qualities: {accuracy: {rule: min}}, families: {A: {implementations: {A2: {time: 1e-6, qualities: {accuracy: 0.5}}}}}}",
        "families: {B: {implementations: {B1: {measured: yes}, B2: {time: 2e-6}}}}",
    };
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) {
        marple_families(declarations[rank % 2]);
        marple_families(declarations[2]);
    }
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
