/* Quicksort over a hypercube: along each dimension, the half of the keys on the wrong side of the pivot goes to the rank opposite, and what is
   kept is put in order. Powers of two. ill: the last but one has half as much again to put in order. */
#include "unseen.h"
enum { KEYS = 8192 };
static int keys[KEYS], theirs[KEYS];
int main(int c, char **v)
{
	start(&c, &v);
	for (int round = 0; round < 30; round++) {
		steps(2e6 * more());
		for (int bit = ranks / 2; bit > 0; bit /= 2) {
			int gives = KEYS / 2 - 100 * ((round * 7 + rank * 3 + bit) % 5), gets;
			MPI_Sendrecv(&gives, 1, MPI_INT, rank ^ bit, 1, &gets, 1, MPI_INT, rank ^ bit, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Sendrecv(keys, gives, MPI_INT, rank ^ bit, 2, theirs, gets, MPI_INT, rank ^ bit, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			steps(2e6 * more());
		}
	}
	MPI_Finalize();
}
