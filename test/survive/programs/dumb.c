/*
 * Preloaded: rank 1 hangs in MPI_Finalize, while ranks replay what they did under scenarios, until rank 0 has done without it: what that
 * has gathered, in the run directory SILENT, is written anew.
 */
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    static int hung;
    char path[4096];
    int rank;
    int (*next)(int, int, MPI_Comm, int *, MPI_Status *);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Iprobe");
    PMPI_Comm_rank(comm, &rank);
    if (rank == 1 && !hung++) {
        struct stat then, now;
        snprintf(path, sizeof path, "%s/raw/merged", getenv("SILENT"));
        if (!stat(path, &then))
            while (!stat(path, &now) && now.st_ino == then.st_ino && now.st_mtime == then.st_mtime)
                usleep(1000);
    }
    return next(source, tag, comm, flag, status);
}
