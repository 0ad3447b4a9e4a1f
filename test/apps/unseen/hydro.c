/* Explicit shock hydrodynamics: a halo of faces, edges and corners in three dimensions. */
#include "unseen.h"
static int p[3], at[3];
static int near_(int d[3])
{
	int c[3];
	for (int i = 0; i < 3; i++) {
		c[i] = at[i] + d[i];
		if (c[i] < 0 || c[i] >= p[i])
			return -1;
	}
	return (c[2] * p[1] + c[1]) * p[0] + c[0];
}

static void stress(double n)
{
	steps(n);
}

static void exchange(double *in, double *out)
{
	MPI_Request q[52];
	int n = 0, k = 0;
	for (int z = -1; z <= 1; z++)
		for (int y = -1; y <= 1; y++)
			for (int x = -1; x <= 1; x++, k++) {
				int d[3] = { x, y, z }, o, zero = !x + !y + !z;
				if (zero == 3 || (o = near_(d)) < 0)
					continue;
				int size = zero == 2 ? 900 : zero == 1 ? 30 : 1;
				MPI_Irecv(in + k * 900, size, MPI_DOUBLE, o, 26 - k, MPI_COMM_WORLD, q + n++);
				MPI_Isend(out + k * 900, size, MPI_DOUBLE, o, k, MPI_COMM_WORLD, q + n++);
			}
	MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
}

int main(int c, char **v)
{
	start(&c, &v);
	MPI_Dims_create(ranks, 3, p);
	at[0] = rank % p[0];
	at[1] = rank / p[0] % p[1];
	at[2] = rank / p[0] / p[1];
	double *in = calloc(27 * 900, 8), *out = calloc(27 * 900, 8), dt = 1, all;
	for (int t = 0; t < 200; t++) {
		stress(2e6 * more());
		exchange(in, out);
		stress(1e6 * more());
		exchange(in, out);
		MPI_Allreduce(&dt, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
