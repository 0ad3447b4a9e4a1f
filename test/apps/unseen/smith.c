/* Two sequences compared (Smith and Waterman): each rank has columns of the table, and gets the edge of each block of rows from the rank
   before it. ill: two blocks for all rows. */
#include "unseen.h"
static int edge[1 << 13];
int main(int c, char **v)
{
	start(&c, &v);
	int rows = 8192, block = ill ? rows / 2 : rows / 32 / ranks, best = 1, all;
	for (int pair = 0; pair < 3; pair++)
		for (int i = 0; i < rows; i += block) {
			if (rank > 0)
				MPI_Recv(edge, block, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			steps(4e3 * block);
			if (rank < ranks - 1)
				MPI_Send(edge, block, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
		}
	MPI_Reduce(&best, &all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Finalize();
}
