/* Finite elements: assembly, then conjugate gradients with a halo and two dot products. */
#include "unseen.h"
static double dot(double x)
{
	double s;
	MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return s;
}

static void assemble(void)
{
	steps(1e8 * more());
}

static void matvec(double *a)
{
	MPI_Request q[4];
	int n = 0;
	if (rank) {
		MPI_Irecv(a, 400, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, q + n++);
		MPI_Isend(a + 400, 400, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, q + n++);
	}
	if (rank < ranks - 1) {
		MPI_Irecv(a + 800, 400, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD, q + n++);
		MPI_Isend(a + 1200, 400, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD, q + n++);
	}
	MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
	steps(1.5e6 * more());
}

int main(int c, char **v)
{
	start(&c, &v);
	double a[1600] = { 0 };
	assemble();
	for (int k = 0; k < 300; k++) {
		matvec(a);
		dot(1);
		steps(3e5 * more());
		dot(1);
		steps(2e5 * more());
	}
	MPI_Finalize();
}
