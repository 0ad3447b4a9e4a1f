/* Prints what a rank knows of itself and of the job, a line for each rank. */
#include <dlfcn.h>

#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char version[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
    char line[200] = {0};
    int n, *appnum, flag, byte = getchar();
    MPI_Get_library_version(version, &n);
    MPI_Get_processor_name(host, &n);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
    bool abi = dlsym(RTLD_DEFAULT, "MPI_Abi_get_version");
    snprintf(line, sizeof line, "%d/%d %.10s app %d stdin %d abi %d: %.100s", rank, size, host, *appnum,
             byte, abi, version);
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t barrier = mock_now();
    MPI_Test(&(MPI_Request){MPI_REQUEST_NULL}, &flag, MPI_STATUS_IGNORE);
    uint64_t test = mock_now();
    MPI_Sendrecv(line, sizeof line, MPI_CHAR, rank, 0, line, sizeof line, MPI_CHAR, rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t message = mock_now();
    char *all = malloc((size_t)size * sizeof line);
    MPI_Gather(line, sizeof line, MPI_CHAR, all, sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == 0; i++)
        printf("%s\n", all + (size_t)i * sizeof line);
    if (rank == 0 && argc > 1)
        printf("%llu %llu %llu\n", (unsigned long long)barrier,
               (unsigned long long)(test - barrier), (unsigned long long)(message - test));
    free(all);
    MPI_Finalize();
    return 0;
}
