/* Tasks dealt as they are asked for; ill: the master takes as long for a result as a worker for a task. */
#include "unseen.h"
static void task(void)
{
	steps(3e6);
}

static void handle(void)
{
	steps(ill ? 3e6 : 1e4);
}

int main(int c, char **v)
{
	start(&c, &v);
	int n = 120 * (ranks - 1), sent = 0, x = 0;
	MPI_Status s;
	if (rank == 0) {
		int back = 0;
		for (int w = 1; w < ranks; w++) {
			sent++;
			MPI_Send(&x, 1, MPI_INT, w, 1, MPI_COMM_WORLD);
		}
		while (back < n) {
			MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s);
			back++;
			handle();
			int go = sent < n;
			sent += go;
			MPI_Send(&x, 1, MPI_INT, s.MPI_SOURCE, go, MPI_COMM_WORLD);
	}}
	else
		for (;;) {
			MPI_Recv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
			if (!s.MPI_TAG)
				break;
			task();
			MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		}
	MPI_Finalize();
}
