/* Transforms whose transposes go from each rank to each other one, in turn to those whose numbers differ in the same bits. Powers of two.
   ill: the last but one has half as much again. */
#include "unseen.h"
enum { PART = 4096 };
static double part[PART], other[PART];
int main(int c, char **v)
{
	start(&c, &v);
	for (int t = 0; t < 60; t++) {
		steps(8e6 * more());
		for (int bits = 1; bits < ranks; bits++)
			MPI_Sendrecv(part, PART / ranks, MPI_DOUBLE, rank ^ bits, bits, other, PART / ranks, MPI_DOUBLE, rank ^ bits, bits, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
}
