/* Multigrid on slices whose coarsest grid is gathered, solved by rank 0 and scattered. ill: solving it takes half as long as a smoothing. */
#include "unseen.h"
enum { LEVELS = 4, RIM = 800 };
static double out[2][RIM], in[2][RIM], piece[16], whole[16 * 64];
static void smooth(double work, int rim)
{
	MPI_Request r[4];
	int n = 0;
	for (int side = 0; side < 2; side++) {
		int with = rank + 2 * side - 1;
		if (with < 0 || with >= ranks)
			continue;
		MPI_Irecv(in[side], rim, MPI_DOUBLE, with, 0, MPI_COMM_WORLD, &r[n++]);
		MPI_Isend(out[side], rim, MPI_DOUBLE, with, 0, MPI_COMM_WORLD, &r[n++]);
	}
	MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
	steps(work);
}

int main(int c, char **v)
{
	start(&c, &v);
	for (int cycle = 0; cycle < 40; cycle++) {
		for (int l = 0; l < LEVELS; l++)
			smooth(8e6 / (1 << l), RIM >> l);
		MPI_Gather(piece, 16, MPI_DOUBLE, whole, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		if (rank == 0)
			steps(ill ? 8e6 : 1e5);
		MPI_Scatter(whole, 16, MPI_DOUBLE, piece, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		for (int l = LEVELS - 1; l >= 0; l--)
			smooth(8e6 / (1 << l), RIM >> l);
	}
	MPI_Finalize();
}
