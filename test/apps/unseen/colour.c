/* A graph is coloured in rounds: all pick colours, tell those that they share edges with, and see to conflicts, until there are none.
   ill: the last but one picks for half as long again, and the last one takes twice as long over conflicts. */
#include "unseen.h"
enum { EDGES = 600 };
static int out[4][EDGES], in[4][EDGES];
int main(int c, char **v)
{
	start(&c, &v);
	int with[4], n = 0, conflicts = 1, left;
	for (int d = 1; d <= 2; d++)
		for (int side = -1; side <= 1; side += 2)
			if (rank + d * side >= 0 && rank + d * side < ranks)
				with[n++] = rank + d * side;
	for (int round = 0; round < 80; round++) {
		MPI_Request r[8];
		steps(6e6 * more());
		for (int i = 0; i < n; i++) {
			MPI_Irecv(in[i], EDGES, MPI_INT, with[i], 0, MPI_COMM_WORLD, &r[i]);
			MPI_Isend(out[i], EDGES, MPI_INT, with[i], 0, MPI_COMM_WORLD, &r[n + i]);
		}
		MPI_Waitall(2 * n, r, MPI_STATUSES_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		steps(ill && rank == ranks - 1 ? 4e6 : 2e6);
		MPI_Allreduce(&conflicts, &left, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
