/*
 * A result on stdout, a word on stderr and an exit code, all from rank 0, for comparing:
 *
 *     results [CODE [FROM TO]]
 *
 * With FROM and TO the directory FROM has become TO before the program ends, as when somebody tidies up.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, ranks, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 10; i++) {
        int mine = rank * i, all;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    if (rank == 0 && argc > 3 && rename(argv[2], argv[3]))
        perror(argv[2]);
    if (rank == 0) {
        printf("the sum is %d\n", sum);
        fprintf(stderr, "a word\n");
    }
    MPI_Finalize();
    return argc > 1 && rank == 0 ? atoi(argv[1]) : 0;
}
