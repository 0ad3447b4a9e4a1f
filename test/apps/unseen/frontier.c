/* Breadth first over a distributed graph: the vertices of a level are sent to their owners all at once. ill: before each level rank 0 looks
   something up for all. */
#include "unseen.h"
static int out[1 << 16], in[1 << 16], count[64], there[64], at[64], from[64];
int main(int c, char **v)
{
	start(&c, &v);
	for (int search = 0; search < 12; search++)
		for (int level = 0, wide = 16, any; level < 10; level++, wide = level < 6 ? wide * 4 : wide / 4) {
			double factor = wide * 1e3;
			if (ill) {
				if (rank == 0)
					steps(factor);
				MPI_Bcast(&factor, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
			}
			steps(factor);
			int n = 0, m = 0, some = wide / ranks < 4096 / ranks ? wide / ranks : 4096 / ranks;
			for (int p = 0; p < ranks; p++) {
				count[p] = some + (rank * p + level) % 3;
				at[p] = n, n += count[p];
			}
			MPI_Alltoall(count, 1, MPI_INT, there, 1, MPI_INT, MPI_COMM_WORLD);
			for (int p = 0; p < ranks; p++)
				from[p] = m, m += there[p];
			MPI_Alltoallv(out, count, at, MPI_INT, in, there, from, MPI_INT, MPI_COMM_WORLD);
			steps(factor);
			MPI_Allreduce(&n, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		}
	MPI_Finalize();
}
