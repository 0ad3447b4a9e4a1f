/* Monte Carlo in batches, and a reduction after each. ill: batches of a few histories. */
#include "unseen.h"
int main(int c, char **v)
{
	start(&c, &v);
	double tally[4] = {0}, all[4];
	for (int batch = 0; batch < (ill ? 20000 : 100); batch++) {
		steps(ill ? 2e4 : 4e6);
		MPI_Allreduce(tally, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
