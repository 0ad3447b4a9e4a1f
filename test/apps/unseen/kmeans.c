/* k-means: points are assigned to the nearest mean, sums of all ranks give the new ones. ill: rank 0 alone computes them, and tells. */
#include "unseen.h"
enum { MEANS = 64, DIMENSIONS = 16 };
static double sum[MEANS * DIMENSIONS], all[MEANS * DIMENSIONS];
int main(int c, char **v)
{
	start(&c, &v);
	for (int round = 0; round < 60; round++) {
		steps(8e6);
		if (ill) {
			MPI_Reduce(sum, all, MEANS * DIMENSIONS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
			if (rank == 0)
				steps(4e6);
			MPI_Bcast(all, MEANS * DIMENSIONS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		} else
			MPI_Allreduce(sum, all, MEANS * DIMENSIONS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		steps(4e4);
	}
	MPI_Finalize();
}
