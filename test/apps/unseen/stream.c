/* A stream of frames through stages, of which the first reads and the last writes. ill: the last but one takes half as long again. */
#include "unseen.h"
static double frame[2000];
int main(int c, char **v)
{
	start(&c, &v);
	for (int f = 0; f < 40 * ranks; f++) {
		if (rank > 0)
			MPI_Recv(frame, 2000, MPI_DOUBLE, rank - 1, f % 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		steps(1e6 * more());
		if (rank < ranks - 1)
			MPI_Send(frame, 2000, MPI_DOUBLE, rank + 1, f % 100, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
