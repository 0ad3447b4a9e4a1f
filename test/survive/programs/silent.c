/*
 * Preloaded: a rank that hangs in MPI_Finalize, when it is to send Marple's rank 0 what it has recorded, until another one has seen
 * to the report in the run directory SILENT.
 */
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int PMPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    enum { LARGE = 1024 }; // sizes and answers are smaller
    char path[4096];
    if (count > LARGE && to == 0) {
        struct stat file;
        snprintf(path, sizeof path, "%s/raw/reporter", getenv("SILENT"));
        while (stat(path, &file) || !file.st_size)
            usleep(1000);
    }
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Isend");
    return next(data, count, type, to, tag, comm, request);
}
