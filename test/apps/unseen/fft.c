/* Fourier transforms with two transposes a step. */
#include "unseen.h"
#define N 65536
static double a[N], b[N];
static void lines(double n)
{
	steps(n);
}

static void transpose(void)
{
	MPI_Alltoall(a, N / ranks, MPI_DOUBLE, b, N / ranks, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int c, char **v)
{
	start(&c, &v);
	for (int t = 0; t < 100; t++) {
		lines(4e6 * more());
		transpose();
		lines(4e6 * more());
		transpose();
	} MPI_Finalize();
}
