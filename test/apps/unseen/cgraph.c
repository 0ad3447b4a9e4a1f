/* Conjugate gradients on a graph without geometry: each rank has some neighbours, near and far, and different numbers of values for
   each; two sums an iteration. */
#include "unseen.h"
static double in[64][4000], out[64][4000];
static int edge(int a, int b)
{
	int d = a > b ? a - b : b - a, low = a < b ? a : b;
	if (d == 1 || (ranks > 2 && d == ranks - 1))
		return 2000;
	return ranks > 4 && d > 1 && (low * 7 + d * 3) % 5 == 0 ? 200 + 50 * (low % 3) : 0;
}

int main(int c, char **v)
{
	start(&c, &v);
	double x = 1, s;
	for (int it = 0; it < 150; it++) {
		MPI_Request r[128];
		int n = 0;
		for (int p = 0; p < ranks; p++)
			if (p != rank && edge(rank, p)) {
				MPI_Irecv(in[p], edge(rank, p), MPI_DOUBLE, p, 0, MPI_COMM_WORLD, &r[n++]);
				MPI_Isend(out[p], edge(rank, p), MPI_DOUBLE, p, 0, MPI_COMM_WORLD, &r[n++]);
			}
		steps(1e6 * more());
		MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
		steps(1e6 * more());
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		steps(4e5 * more());
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		steps(4e5 * more());
	}
	MPI_Finalize();
}
