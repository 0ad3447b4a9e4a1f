/* SUMMA: panels of two matrices are broadcast along rows and columns of the grid of ranks. ill: who has a panel packs it for long. */
#include "unseen.h"
static double panel[2][4096];
int main(int c, char **v)
{
	start(&c, &v);
	int width = 1;
	while (width * width < ranks || ranks % width)
		width++;
	MPI_Comm along, across;
	MPI_Comm_split(MPI_COMM_WORLD, rank / width, rank, &along);
	MPI_Comm_split(MPI_COMM_WORLD, rank % width, rank, &across);
	for (int k = 0; k < 30 * width; k++) {
		int column = k % width, row = k % (ranks / width);
		if (rank % width == column && ill)
			steps(1e6);
		MPI_Bcast(panel[0], 4096, MPI_DOUBLE, column, along);
		MPI_Bcast(panel[1], 4096, MPI_DOUBLE, row, across);
		steps(3e6);
	}
	MPI_Finalize();
}
