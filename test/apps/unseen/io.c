/* Steps with output by rank 0; ill: output takes long. */
#include "unseen.h"
static double a[4096], all[4096 * 64];
static void solve(void)
{
	steps(6e6);
}

static void output(void)
{
	MPI_Gather(a, 4096, MPI_DOUBLE, all, 4096, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank == 0)
		steps(ill ? 3e7 : 1e5);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int c, char **v)
{
	start(&c, &v);
	double x = 1, s;
	for (int t = 0; t < 150; t++) {
		solve();
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		if (t % 10 == 9)
			output();
	}
	MPI_Finalize();
}
