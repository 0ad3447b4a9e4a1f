/* A quadtree of boxes, cut along a curve through the smallest: sums go up it, and down again. */
#include "unseen.h"
enum { LEVELS = 6, TERMS = 100 };
static double mass[1 << 2 * LEVELS][2], term[TERMS];
static int owner(int level, int place)
{
	return (int)((long)(place << 2 * (LEVELS - 1 - level)) * ranks >> 2 * (LEVELS - 1));
}

static void pass(int from, int to)
{
	if (rank == from && from != to)
		MPI_Send(term, TERMS, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
	if (rank == to && from != to)
		MPI_Recv(term, TERMS, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void level_of(int level, int up)
{
	for (int place = 0; place < 1 << 2 * level; place++) {
		int here = owner(level, place);
		if (up && here == rank)
			steps(2e3 * more());
		for (int k = 0; level < LEVELS - 1 && k < 4; k++) {
			int below = owner(level + 1, 4 * place + k);
			up ? pass(below, here) : pass(here, below);
		}
		if (!up && here == rank)
			steps(2e3 * more());
		mass[place][up] += 1;
	}
}

int main(int c, char **v)
{
	start(&c, &v);
	for (int step = 0; step < 40; step++) {
		for (int l = LEVELS - 1; l >= 0; l--)
			level_of(l, 1);
		for (int l = 0; l < LEVELS; l++)
			level_of(l, 0);
		steps(8e5 * more());
	}
	MPI_Finalize();
}
