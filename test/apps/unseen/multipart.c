/* Multipartition: q x q ranks have a cell of each slice, so that all work all the time while sweeps go along each axis. Squares. */
#include "unseen.h"
enum { FACE = 600 };
static double in[6][FACE], out[6][FACE];
int main(int c, char **v)
{
	start(&c, &v);
	int q = 1, to[3], from[3];
	while (q * q < ranks)
		q++;
	int i = rank % q, j = rank / q, up = (i + 1) % q, down = (i + q - 1) % q, right = (j + 1) % q, left = (j + q - 1) % q;
	to[0] = up + q * j, to[1] = i + q * right, to[2] = down + q * right;
	from[0] = down + q * j, from[1] = i + q * left, from[2] = up + q * left;
	for (int step = 0; step < 40; step++) {
		MPI_Request r[12];
		int n = 0;
		for (int a = 0; a < 3; a++) {
			MPI_Irecv(in[a], FACE, MPI_DOUBLE, from[a], a, MPI_COMM_WORLD, &r[n++]);
			MPI_Irecv(in[3 + a], FACE, MPI_DOUBLE, to[a], 3 + a, MPI_COMM_WORLD, &r[n++]);
			MPI_Isend(out[a], FACE, MPI_DOUBLE, to[a], a, MPI_COMM_WORLD, &r[n++]);
			MPI_Isend(out[3 + a], FACE, MPI_DOUBLE, from[a], 3 + a, MPI_COMM_WORLD, &r[n++]);
		}
		MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
		steps(6e6 * more());
		for (int a = 0; a < 3; a++)
			for (int back = 0; back < 2; back++)
				for (int s = 0; s < q; s++) {
					if (s > 0)
						MPI_Recv(in[a], FACE / q, MPI_DOUBLE, back ? to[a] : from[a], 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
					steps(2e6 / q * more());
					if (s < q - 1)
						MPI_Send(out[a], FACE / q, MPI_DOUBLE, back ? from[a] : to[a], 9, MPI_COMM_WORLD);
				}
	}
	MPI_Finalize();
}
