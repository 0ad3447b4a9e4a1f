/* Multigrid: V cycles with fewer and smaller messages on coarser levels. */
#include "unseen.h"
static double a[1 << 15];
static void halo(int n, int d)
{
	int l = rank - d < 0 ? MPI_PROC_NULL : rank - d, r = rank + d >= ranks ? MPI_PROC_NULL : rank + d;
	MPI_Sendrecv(a, n, MPI_DOUBLE, l, 0, a + n, n, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(a, n, MPI_DOUBLE, r, 1, a + n, n, MPI_DOUBLE, l, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void smooth(int level)
{
	halo(4096 >> level * 2, 1);
	steps(2e6 / (1 << level * 3) * more());
}

static void vcycle(int level)
{
	smooth(level);
	if (level < 4) {
		vcycle(level + 1);
		smooth(level);
	}
}

int main(int c, char **v)
{
	start(&c, &v);
	double x = 1, s;
	for (int k = 0; k < 150; k++) {
		vcycle(0);
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		steps(5e5 * more());
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
