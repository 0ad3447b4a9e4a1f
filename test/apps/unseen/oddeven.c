/* Odd-even transposition sort: with the rank on one side, then with that on the other; pieces take now longer, now shorter,
   the same on all ranks in the end. ill: all ranks meet after each exchange. */
#include "unseen.h"
enum { KEYS = 2000 };
static int mine[KEYS], theirs[KEYS];
int main(int c, char **v)
{
	start(&c, &v);
	for (int phase = 0; phase < 480; phase++) {
		int with = (phase + rank) % 2 ? rank + 1 : rank - 1;
		steps(phase / 2 % ranks == rank && ill ? 8e5 : 4e5);
		if (with >= 0 && with < ranks)
			MPI_Sendrecv(mine, KEYS, MPI_INT, with, 0, theirs, KEYS, MPI_INT, with, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (ill)
			MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
