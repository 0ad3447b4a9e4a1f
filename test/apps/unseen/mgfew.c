/* Multigrid on a line of ranks: on each coarser level, half of them go on. */
#include "unseen.h"
static double a[1 << 14];
static void smooth(int level)
{
	int d = 1 << level, l = rank - d, r = rank + d;
	if (rank % d)
		return;
	MPI_Request q[4];
	int n = 0;
	for (int side = 0; side < 2; side++) {
		int p = side ? r : l;
		if (p < 0 || p >= ranks)
			continue;
		MPI_Irecv(a + 4096 * side, 2048 >> level, MPI_DOUBLE, p, level, MPI_COMM_WORLD, &q[n++]);
		MPI_Isend(a + 8192, 2048 >> level, MPI_DOUBLE, p, level, MPI_COMM_WORLD, &q[n++]);
	}
	MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
	steps(4e6 / (1 << 3 * level) * (level == 0 ? more() : 1));
}

static void move(int level, int down)
{
	int d = 1 << level, small = 4096 >> level;
	if (rank % d)
		return;
	int other = rank / d % 2 ? rank - d : rank + d;
	if (other >= ranks)
		return;
	if ((rank / d % 2 == 1) == down)
		MPI_Send(a, small, MPI_DOUBLE, other, 50 + level, MPI_COMM_WORLD);
	else
		MPI_Recv(a, small, MPI_DOUBLE, other, 50 + level, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void vcycle(int level)
{
	smooth(level);
	smooth(level);
	if (1 << (level + 1) > ranks)
		return;
	move(level, 1);
	vcycle(level + 1);
	move(level, 0);
	smooth(level);
}

int main(int c, char **v)
{
	start(&c, &v);
	double x = 1, s;
	for (int k = 0; k < 60; k++) {
		vcycle(0);
		MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
}
