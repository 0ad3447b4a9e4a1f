/* Elimination of columns that are dealt out in panels: the owner of a panel factors it and broadcasts it, all update what is right of it.
   ill: factoring takes as long as the update of all. */
#include "unseen.h"
static double panel[20000];
int main(int c, char **v)
{
	start(&c, &v);
	int panels = 16 * ranks;
	for (int k = 0; k < panels; k++) {
		int owner = k % ranks, mine = 0;
		if (rank == owner)
			steps(ill ? 8e6 * (panels - k) / panels : 1e5);
		MPI_Bcast(panel, 100 * (panels - k) / ranks, MPI_DOUBLE, owner, MPI_COMM_WORLD);
		for (int j = k + 1; j < panels; j++)
			mine += j % ranks == rank;
		steps(5e5 * mine);
	}
	MPI_Finalize();
}
