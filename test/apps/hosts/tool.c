/*
 * Another PMPI tool in the same process, a library to preload or to link: it counts the calls of one function
 * and writes the number to standard output when the program finalises.
 */
#include <mpi.h>
#include <stdio.h>

static long calls;

#ifdef TOOL_INIT
int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}
#endif

int MPI_Sendrecv(const void *out, int sent, MPI_Datatype type_out, int to, int tag_out, void *in, int room, MPI_Datatype type_in, int from,
                 int tag_in, MPI_Comm comm, MPI_Status *status)
{
    calls++;
    return PMPI_Sendrecv(out, sent, type_out, to, tag_out, in, room, type_in, from, tag_in, comm, status);
}

int MPI_Finalize(void)
{
    printf("tool: %ld\n", calls);
    fflush(stdout);
    return PMPI_Finalize();
}
