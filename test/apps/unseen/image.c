/* Images go through a chain of filters, a rank each. ill: an image is passed on row by row, in messages of half a KiB. */
#include "unseen.h"
enum { ROWS = 200, COLUMNS = 512, IMAGES = 60 };
static char image[ROWS][COLUMNS];
int main(int c, char **v)
{
	start(&c, &v);
	int parts = ill ? ROWS : 1, size = ROWS * COLUMNS / parts;
	for (int i = 0; i < IMAGES; i++) {
		for (int p = 0; p < parts && rank > 0; p++)
			MPI_Recv(image[p * ROWS / parts], size, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		steps(4e6);
		for (int p = 0; p < parts && rank < ranks - 1; p++)
			MPI_Ssend(image[p * ROWS / parts], size, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
