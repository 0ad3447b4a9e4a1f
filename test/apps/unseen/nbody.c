/* Bodies that all attract each other: those of each rank go once round a ring, and forces are computed wherever they are.
   ill: the last but one has half as much again. */
#include "unseen.h"
enum { BODIES = 1000 };
static double mine[4 * BODIES], guests[4 * BODIES];
int main(int c, char **v)
{
	start(&c, &v);
	for (int step = 0; step < 20; step++) {
		memcpy(guests, mine, sizeof mine);
		for (int hop = 0; hop < ranks; hop++) {
			steps(4e6 * more());
			MPI_Sendrecv_replace(guests, 4 * BODIES, MPI_DOUBLE, (rank + 1) % ranks, 0, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
					     MPI_STATUS_IGNORE);
		}
		steps(4e5 * more());
	}
	MPI_Finalize();
}
