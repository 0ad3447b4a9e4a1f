/* Parallel in time: each rank integrates a slice of it finely; the coarse integrator then goes through all slices, one after the other.
   ill: the coarse one is not coarse enough. */
#include "unseen.h"
static double state[500];
int main(int c, char **v)
{
	start(&c, &v);
	double x = 1, s;
	for (int it = 0; it < 20; it++) {
		steps(4e7);
		if (rank > 0)
			MPI_Recv(state, 500, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		steps(ill ? 8e6 : 4e4);
		if (rank < ranks - 1)
			MPI_Send(state, 500, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
