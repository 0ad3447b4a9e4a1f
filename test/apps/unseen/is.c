/* Bucket sort: counts, then keys, all to all. */
#include "unseen.h"
#define N 200000
static int k[N], o[N * 2], n[64], m[64], d[64], e[64];
static void count(void)
{
	steps(3e6 * more());
}

static void rank_keys(void)
{
	steps(4e6 * more());
}

int main(int c, char **v)
{
	start(&c, &v);
	int h[1024] = { 0 }, g[1024];
	for (int t = 0; t < 100; t++) {
		count();
		MPI_Allreduce(h, g, 1024, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < ranks; i++)
			n[i] = N / ranks, d[i] = i * (N / ranks);
		MPI_Alltoall(n, 1, MPI_INT, m, 1, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0, s = 0; i < ranks; i++)
			e[i] = s, s += m[i];
		MPI_Alltoallv(k, n, d, MPI_INT, o, m, e, MPI_INT, MPI_COMM_WORLD);
		rank_keys();
	} MPI_Finalize();
}
