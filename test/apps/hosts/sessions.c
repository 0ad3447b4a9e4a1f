/*
 * Processes without MPI_Init: sessions, a communicator of all processes, messages to oneself and to the others.
 * Prints as the other hosts do.
 */
#include "host.h"

int main(void)
{
    MPI_Session session, second;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, out = 1, in;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Session_finalize(&second);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "hosts", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < MANY; i++) {
        int distance = i % 1000 == 0; /* rarely, because a waiting rank may need the other's core */
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + distance) % size, 0, &in, 1, MPI_INT, (rank + size - distance) % size, 0, comm,
                     MPI_STATUS_IGNORE);
        made++;
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return verdict();
}
