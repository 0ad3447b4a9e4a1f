/* Work stealing: who has nothing left asks ranks at random, which answer between two tasks. ill: nothing is given away, and the last
   but one has half as much again. */
#include "unseen.h"
enum { ASK, GIVE, DONE, TASKS = 400 };
static int left, asked = -1, finished;
static unsigned seed;
static void answer(void)
{
	int found, none = 0;
	MPI_Status s;
	for (;;) {
		MPI_Iprobe(MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &found, &s);
		if (!found)
			break;
		MPI_Recv(&none, 0, MPI_INT, s.MPI_SOURCE, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		int give = ill || left < 4 ? 0 : left / 2;
		left -= give;
		MPI_Send(&give, 1, MPI_INT, s.MPI_SOURCE, GIVE, MPI_COMM_WORLD);
	}
	MPI_Iprobe(MPI_ANY_SOURCE, DONE, MPI_COMM_WORLD, &found, &s);
	if (found) {
		int n;
		MPI_Recv(&n, 1, MPI_INT, s.MPI_SOURCE, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		finished += n;
	}
}

int main(int c, char **v)
{
	start(&c, &v);
	int work = 0, found, told = 0, total = TASKS * ranks + (ill ? TASKS / 2 : 0);
	left = ill ? TASKS * more() : rank % 2 ? TASKS / 2 : TASKS * 3 / 2;
	seed = rank + 1;
	while (finished < total) {
		answer();
		if (left > 0) {
			left--, work++;
			steps(4e5);
			continue;
		}
		if (work > told) { /* all are told what is done */
			int n = work - told;
			for (int p = 0; p < ranks; p++)
				if (p != rank)
					MPI_Send(&n, 1, MPI_INT, p, DONE, MPI_COMM_WORLD);
			finished += n, told = work;
		}
		if (asked < 0 && finished < total) {
			seed = seed * 1664525 + 1013904223;
			asked = (rank + 1 + (seed >> 16) % (ranks - 1)) % ranks;
			MPI_Send(&work, 0, MPI_INT, asked, ASK, MPI_COMM_WORLD);
		}
		steps(2e4);
		if (asked >= 0) {
			MPI_Iprobe(asked, GIVE, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
			if (found) {
				int n;
				MPI_Recv(&n, 1, MPI_INT, asked, GIVE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				left += n, asked = -1;
			}
		}
	}
	MPI_Barrier(MPI_COMM_WORLD); /* what is still asked is answered no more */
	MPI_Finalize();
}
