/* Bitonic sort: keys are exchanged with the ranks whose numbers differ in one bit, and half of them kept. Powers of two. */
#include "unseen.h"
enum { KEYS = 4096 };
static int mine[KEYS], theirs[KEYS], kept[KEYS];
static void keep(int with, int low)
{
	MPI_Sendrecv(mine, KEYS, MPI_INT, with, 0, theirs, KEYS, MPI_INT, with, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0, j = 0, k = 0; k < KEYS; k++)
		if (low)
			kept[k] = mine[i] <= theirs[j] ? mine[i++] : theirs[j++];
		else
			kept[KEYS - 1 - k] = mine[KEYS - 1 - i] >= theirs[KEYS - 1 - j] ? mine[KEYS - 1 - i++] : theirs[KEYS - 1 - j++];
	memcpy(mine, kept, sizeof mine);
	steps(4e5 * more());
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int c, char **v)
{
	start(&c, &v);
	unsigned x = 17 * rank + 1;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < KEYS; i++)
			mine[i] = (x = x * 1664525 + 1013904223) >> 8;
		qsort(mine, KEYS, sizeof *mine, by_value);
		steps(2e6 * more());
		for (int k = 2; k <= ranks; k *= 2)
			for (int j = k / 2; j > 0; j /= 2)
				keep(rank ^ j, ((rank & k) == 0) == ((rank & j) == 0));
	}
	MPI_Finalize();
}
