/* A wavefront over a grid of ranks: a block may be computed when its neighbours north and west have been. */
#include <mpi.h>
#include <stdlib.h>

#include "../work.h"

/* Too few blocks: while the front enters and leaves the grid, most ranks wait. */
enum { BLOCKS = 4, SWEEPS = 20, EDGE = 64 };

int main(int argc, char **argv)
{
    int ranks, dims[2] = {0, 0}, periods[2] = {0, 0}, north, south, west, east;
    MPI_Comm grid;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &north, &south);
    MPI_Cart_shift(grid, 1, 1, &west, &east);
    double row[EDGE] = {0}, column[EDGE] = {0}, norm = 1, all;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int block = 0; block < BLOCKS; block++) {
            MPI_Recv(row, EDGE, MPI_DOUBLE, north, 0, grid, MPI_STATUS_IGNORE);
            MPI_Recv(column, EDGE, MPI_DOUBLE, west, 1, grid, MPI_STATUS_IGNORE);
            work_us(500);
            MPI_Send(row, EDGE, MPI_DOUBLE, south, 0, grid);
            MPI_Send(column, EDGE, MPI_DOUBLE, east, 1, grid);
        }
        MPI_Allreduce(&norm, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
