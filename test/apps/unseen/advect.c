/* Upwind transport in one dimension: parameters are broadcast, cells go round a ring of ranks one way, and the step is reduced.
   ill: the last but one has half as much again. */
#include "unseen.h"
enum { CELLS = 2000 };
static double edge[CELLS], in[CELLS];
int main(int c, char **v)
{
	start(&c, &v);
	double parameters[8] = {1}, dt = 1, least;
	MPI_Bcast(parameters, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int step = 0; step < 100; step++) {
		MPI_Sendrecv(edge, CELLS, MPI_DOUBLE, (rank + 1) % ranks, 0, in, CELLS, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		steps(6e6 * more());
		MPI_Allreduce(&dt, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
