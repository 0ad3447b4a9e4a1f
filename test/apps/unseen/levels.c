/* Two levels of masters: rank 0 deals packets to the first rank of each four, which deals tasks to the others. ill: rank 0 takes its time
   for each packet. */
#include "unseen.h"
enum { PACKETS = 40, TASKS = 12 };
static int x;
static void deal(int n, const int *to, int workers, int packet)
{
	MPI_Status s;
	int sent = 0;
	for (int w = 0; w < workers && sent < n; w++, sent++)
		MPI_Send(&packet, 1, MPI_INT, to[w], 1, MPI_COMM_WORLD);
	for (int back = 0; back < n; back++) {
		MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &s);
		if (rank == 0 && ill)
			steps(6e6);
		if (sent < n)
			sent++, MPI_Send(&packet, 1, MPI_INT, s.MPI_SOURCE, 1, MPI_COMM_WORLD);
	}
}

static void end(const int *who, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Send(&x, 1, MPI_INT, who[i], 0, MPI_COMM_WORLD);
}

int main(int c, char **v)
{
	start(&c, &v);
	int group = ranks < 8 ? ranks - 1 : 4, who[64], n = 0, boss = rank == 0 ? -1 : (rank - 1) / group * group + 1;
	MPI_Status s;
	for (int p = 1; p < ranks; p++)
		if (rank == 0 ? (p - 1) % group == 0 : rank == boss && p > rank && p < rank + group)
			who[n++] = p;
	if (rank == 0) {
		deal(PACKETS * n, who, n, TASKS);
		end(who, n);
	} else
		for (;;) {
			MPI_Recv(&x, 1, MPI_INT, rank == boss ? 0 : boss, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
			if (!s.MPI_TAG)
				break;
			if (rank != boss)
				steps(1e6);
			else
				deal(TASKS, who, n, 1);
			MPI_Send(&x, 1, MPI_INT, rank == boss ? 0 : boss, 2, MPI_COMM_WORLD);
		}
	if (rank && rank == boss)
		end(who, n);
	MPI_Finalize();
}
