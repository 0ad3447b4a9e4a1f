/* Sums of long vectors by recursive doubling, written by hand: ranks beyond a power of two give theirs to one of the others first, and get
   the sum from it. ill: the last but one computes half as long again. */
#include "unseen.h"
enum { LENGTH = 4000 };
static double mine[LENGTH], theirs[LENGTH];
static void add(int with)
{
	MPI_Sendrecv(mine, LENGTH, MPI_DOUBLE, with, 0, theirs, LENGTH, MPI_DOUBLE, with, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	steps(1e6 * more());
}

int main(int c, char **v)
{
	start(&c, &v);
	int size = 1;
	while (2 * size <= ranks)
		size *= 2;
	for (int batch = 0; batch < 80; batch++) {
		steps(2e6 * more());
		if (rank >= size) {
			MPI_Send(mine, LENGTH, MPI_DOUBLE, rank - size, 1, MPI_COMM_WORLD);
			MPI_Recv(mine, LENGTH, MPI_DOUBLE, rank - size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			continue;
		}
		if (rank + size < ranks)
			MPI_Recv(theirs, LENGTH, MPI_DOUBLE, rank + size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int bit = 1; bit < size; bit *= 2)
			add(rank ^ bit);
		if (rank + size < ranks)
			MPI_Send(mine, LENGTH, MPI_DOUBLE, rank + size, 2, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
