/* Replica exchange: each rank has a temperature, and after some sweeps may swap with that above, or below. ill: the last but one computes
   for longer. */
#include "unseen.h"
static double energy, other, spins[1000], theirs[1000];
int main(int c, char **v)
{
	start(&c, &v);
	for (int k = 0; k < 200; k++) {
		steps(3e6 * more());
		int with = (k + rank) % 2 ? rank - 1 : rank + 1;
		if (with < 0 || with >= ranks)
			continue;
		MPI_Sendrecv(&energy, 1, MPI_DOUBLE, with, 0, &other, 1, MPI_DOUBLE, with, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if ((k + (with < rank ? with : rank)) % 3 == 0)
			MPI_Sendrecv(spins, 1000, MPI_DOUBLE, with, 1, theirs, 1000, MPI_DOUBLE, with, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
}
