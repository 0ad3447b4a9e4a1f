/*
 * Calls that send and receive, of which some fit one record and some do not. Each line is one of rank 0's: bytes sent, peer
 * and tag; bytes received, peer and tag, or "nobody".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char out[1 << 20], in[1 << 20];

/* The two ranks do the same with each other; what differs is told by the rank. */
static void both(int rank, int sent[2], int tags[2], int source, int tag)
{
    MPI_Status status;
    MPI_Sendrecv(out, sent[rank], MPI_CHAR, !rank, tags[rank], in, sizeof in, MPI_CHAR, source == MPI_ANY_SOURCE ? source : !rank,
                 tag == MPI_ANY_TAG ? tag : tags[!rank], MPI_COMM_WORLD, &status);
    if (rank == 0)
        printf("%d 1 %d %d 1 %d\n", sent[0], tags[0], sent[1], tags[1]);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        both(rank, (int[]){8, 8}, (int[]){0, 0}, 1, 0);
        both(rank, (int[]){8, 800}, (int[]){7, 7}, MPI_ANY_SOURCE, MPI_ANY_TAG);
        both(rank, (int[]){800, 8}, (int[]){32767, 32767}, 1, 0);
        both(rank, (int[]){32767, 0}, (int[]){3, 3}, 1, MPI_ANY_TAG);
        both(rank, (int[]){32768, 0}, (int[]){3, 3}, 1, 0);
        both(rank, (int[]){32769, 0}, (int[]){3, 3}, 1, 0);
        both(rank, (int[]){0, 32767}, (int[]){3, 3}, 1, 0);
        both(rank, (int[]){0, 32768}, (int[]){3, 3}, 1, 0);
        both(rank, (int[]){16, 24}, (int[]){1, 2}, 1, 0);
        both(rank, (int[]){16, 16}, (int[]){65535, 65535}, 1, 0);
        both(rank, (int[]){16, 16}, (int[]){65536, 65536}, 1, 0);
        both(rank, (int[]){1000000, 1000001}, (int[]){9, 9}, 1, 0);
        MPI_Sendrecv(out, 8, MPI_CHAR, MPI_PROC_NULL, 4, in, 8, MPI_CHAR, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) {
            MPI_Sendrecv(out, 8, MPI_CHAR, 1, 5, in, 8, MPI_CHAR, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Sendrecv(out, 8, MPI_CHAR, MPI_PROC_NULL, 6, in, 8, MPI_CHAR, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("0 -2 4 nobody\n8 1 5 nobody\n0 -2 6 8 1 6\n");
        } else {
            MPI_Recv(in, 8, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, 8, MPI_CHAR, 0, 6, MPI_COMM_WORLD);
        }
        MPI_Sendrecv_replace(out, 12, MPI_CHAR, !rank, 8, !rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0)
            printf("12 1 8 12 1 8\n");
    }
    MPI_Finalize();
    return 0;
}
