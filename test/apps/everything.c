/*
 * Calls every MPI function that Marple measures and that the MPI library at hand has, checks what the
 * calls did, and writes down how often each was called and how many bytes it moved.
 *
 *     everything DIRECTORY    (files and accounts are written there; at least 2 ranks)
 */
#include "everything/expect.h"

int rank, size;

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size >= 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* CHECK tells where it happened */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    name(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    name(MPI_COMM_SELF, "MPI_COMM_SELF");

    point_to_point();
    completion();
    many_requests();
    collectives();
    intercommunicators();
    neighbourhoods();
    one_sided();
    files(argv[1]);
    communicators();
    datatypes();
    errors();
    MPI3(large();) /* the mock copies even what stays where it is */
    local_calls();

    CALL(Barrier, on(MPI_COMM_WORLD), 0, 0, MPI_COMM_WORLD);
    const char *world = on(MPI_COMM_WORLD);
    MPI_Finalize();
    counted("MPI_Finalize", world, 0, 0);
    tell(argv[1]);
    return 0;
}
