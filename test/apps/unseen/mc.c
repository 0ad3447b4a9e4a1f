/* Monte Carlo: independent histories and one reduction. */
#include "unseen.h"
static void histories(void)
{
	for (int i = 0; i < 400; i++)
		steps(2e6 * more());
}

int main(int c, char **v)
{
	start(&c, &v);
	double x = 1, s;
	histories();
	MPI_Reduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Finalize();
}
