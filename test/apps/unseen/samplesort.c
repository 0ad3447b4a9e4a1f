/* Sample sort: splitters of samples from all ranks, one exchange of everything, then each sorts its bucket. ill: one bucket is larger. */
#include "unseen.h"
enum { KEYS = 8192 };
static int keys[KEYS], sorted[2 * KEYS], sample[64 * 64], count[64], there[64], at[64], from[64];
int main(int c, char **v)
{
	start(&c, &v);
	for (int round = 0; round < 25; round++) {
		steps(4e6);
		MPI_Allgather(keys, ranks, MPI_INT, sample, ranks, MPI_INT, MPI_COMM_WORLD);
		steps(1e5);
		for (int p = 0, n = 0; p < ranks; n += count[p++]) {
			count[p] = KEYS / ranks / (ill && p != ranks - 2 ? 2 : 1);
			at[p] = n;
		}
		MPI_Alltoall(count, 1, MPI_INT, there, 1, MPI_INT, MPI_COMM_WORLD);
		int n = 0;
		for (int p = 0; p < ranks; n += there[p++])
			from[p] = n;
		MPI_Alltoallv(keys, count, at, MPI_INT, sorted, there, from, MPI_INT, MPI_COMM_WORLD);
		steps(1e3 * n);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
}
