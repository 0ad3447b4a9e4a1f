/* Training on parts of the data: gradients are added up by recursive doubling, written by hand. Powers of two. ill: the last but one
   computes for longer. */
#include "unseen.h"
static double gradient[3000], theirs[3000];
int main(int c, char **v)
{
	start(&c, &v);
	for (int batch = 0; batch < 100; batch++) {
		steps(8e6 * more());
		for (int bit = 1; bit < ranks; bit *= 2) {
			MPI_Sendrecv(gradient, 3000, MPI_DOUBLE, rank ^ bit, bit, theirs, 3000, MPI_DOUBLE, rank ^ bit, bit, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			for (int i = 0; i < 3000; i++)
				gradient[i] += theirs[i];
			steps(1e4);
		}
	}
	MPI_Finalize();
}
