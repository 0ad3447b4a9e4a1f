/* Compact programs in the manner of well-known ones, healthy or ("ill") with one ailment. MOCK: in simulated time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
static int rank, ranks, ill;
__attribute__((unused))
static double sink;
/* about 1 ns a step where the machine has nothing else to do */
#ifdef MOCK
#include <mock.h>
static void steps(double n)
{
	mock_compute((long)(n * 0.25));
}
#else
static void steps(double n)
{
	double x = 1;
	for (long i = 0; i < (long)(n * 0.25); i++)
		x = x * 0.999999 + 1e-9;
	sink += x;
}
#endif
static void start(int *c, char ***v)
{
	MPI_Init(c, v);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	ill = *c > 1 && !strcmp((*v)[1], "ill");
}

/* the ailing rank: the last but one, with half as much again */
__attribute__((unused))
static double more(void)
{
	return ill && rank == ranks - 2 ? 1.5 : 1;
}
