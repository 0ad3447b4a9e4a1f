/* A program with LIKWID's markers, built against its library: a region in a region, one never registered, one that is not ended. */
#include <mpi.h>
#include <stdio.h>

#include <likwid-marker.h>

int main(int argc, char **argv)
{
    double sum = 0;
    MPI_Init(&argc, &argv);
    LIKWID_MARKER_INIT;
    LIKWID_MARKER_REGISTER("sweep");
    for (int i = 0; i < 10; i++) {
        LIKWID_MARKER_START("sweep");
        for (int j = 0; j < 1000; j++)
            sum += j;
        LIKWID_MARKER_START("reduce");
        MPI_Barrier(MPI_COMM_WORLD);
        LIKWID_MARKER_STOP("reduce");
        LIKWID_MARKER_STOP("sweep");
    }
    LIKWID_MARKER_STOP("never");
    LIKWID_MARKER_CLOSE;
    printf("%g\n", sum);
    MPI_Finalize();
    return 0;
}
