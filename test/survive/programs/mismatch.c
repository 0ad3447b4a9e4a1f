/*
 * Makes records made and records merged differ: mismatch DIRECTORY. In the record file of rank 0 the count of sends that it has
 * made is raised by three, as if three records had been lost on the way.
 */
#include "counted.h"

#include "layout.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { CALLS = 1000 };
    char path[4096];
    int rank, ranks, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < CALLS; i++)
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    snprintf(path, sizeof path, "%s/raw/rank-000000.mrl", argv[1]);
    int file = rank == 0 ? open(path, O_RDWR) : -1;
    if (file >= 0) {
        struct mrl_thread *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, file, MRL_THREADS_AT);
        if (t != MAP_FAILED)
            t->made[MRL_OP_SEND] += 3;
    }
    MPI_Finalize();
    return 0; // at any other code MPICH's launcher loses what a rank has said last
}
