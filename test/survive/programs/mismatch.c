/*
 * Changes a rank's own record file before MPI_Finalize: mismatch DIRECTORY RANK WHAT. "made": the count of sends that it has made
 * is raised by three, as if three records had been lost on the way. "damaged": its first word is another one.
 */
#include "counted.h"

#include "layout.h"

#include <fcntl.h>
#include <string.h>
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
        else if (rank == 1)
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    snprintf(path, sizeof path, "%s/raw/rank-%06d.mrl", argv[1], rank);
    int file = rank == atoi(argv[2]) ? open(path, O_RDWR) : -1;
    if (file >= 0 && strcmp(argv[3], "made") == 0) {
        struct mrl_thread *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, file, MRL_THREADS_AT);
        if (t != MAP_FAILED)
            t->made[MRL_OP_SEND] += 3;
    } else if (file >= 0 && pwrite(file, "DAMAGED!", 8, 0) != 8) {
        perror(path);
    }
    MPI_Finalize();
    return 0; // at any other code MPICH's launcher loses what a rank has said last
}
