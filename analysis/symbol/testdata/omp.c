/* OpenMP: gcc and clang make functions of the bodies of parallel regions. */
#include "probe.h"
#include <stdio.h>

int x[100];

NOINLINE void work(void)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp master
		PROBE("work [omp 0]");
		x[1] = 1;
	}
#pragma omp parallel num_threads(2)
	{
#pragma omp master
		PROBE("work [omp 1]");
		x[2] = 1;
	}
	PROBE("work");
}

void run(void)
{
	work();
	printf("%d\n", x[1]);
}
