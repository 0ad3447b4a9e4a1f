/* Blocks with guard cells; ill: flags of one integer each, sent synchronously. */
#include "unseen.h"
static double a[8192], b[8192];
static void guards(void)
{
	int r = (rank + 1) % ranks, l = (rank + ranks - 1) % ranks;
	MPI_Sendrecv(a, 8192, MPI_DOUBLE, r, 0, b, 8192, MPI_DOUBLE, l, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(a, 8192, MPI_DOUBLE, l, 0, b, 8192, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void flags(int n)
{
	int o = rank ^ 1, f = 1;
	if (o >= ranks)
		return;
	for (int i = 0; i < n; i++)
		if (rank & 1) {
			MPI_Recv(&f, 1, MPI_INT, o, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Ssend(&f, 1, MPI_INT, o, 2, MPI_COMM_WORLD);
		}
		else {
			MPI_Ssend(&f, 1, MPI_INT, o, 1, MPI_COMM_WORLD);
			MPI_Recv(&f, 1, MPI_INT, o, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
}

static void hydro(void)
{
	steps(3e6);
}

int main(int c, char **v)
{
	start(&c, &v);
	int n = ill ? 1000 : 1, m;
	for (int t = 0; t < 200; t++) {
		guards();
		hydro();
		if (t % 4 == 0) {
			flags(n);
			MPI_Allreduce(&t, &m, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		}
	}
	MPI_Finalize();
}
