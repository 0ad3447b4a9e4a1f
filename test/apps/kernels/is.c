/* IS, integer sort: keys are counted by bucket, sent to the rank that has their bucket, and ranked there (NAS). */
#include "kernel.h"

enum { KEYS = 1 << 17, LARGEST = 1 << 11, BUCKETS = 1 << 9 };

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", NULL};
    begin(argc, argv, known);
    int mine = KEYS / ranks, iterations = 10 * size, ok = 1, total = 0;
    int *key = malloc(sizeof *key * mine), *out = malloc(sizeof *out * mine), *in = malloc(sizeof *in * KEYS);
    uint64_t x = skip(314159265, 4ull * (uint64_t)mine * (uint64_t)rank);
    for (int i = 0; i < mine; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += next_random(&x);
        key[i] = (int)(sum * LARGEST / 4);
    }
    for (int step = 0; step < iterations; step++) {
        int count[BUCKETS] = {0}, all[BUCKETS], owner[BUCKETS], start[BUCKETS + 1] = {0}, ranked[LARGEST + 1] = {0};
        int send[ranks], receive[ranks], to[ranks], from[ranks];
        prepare(2 * MS);
        compute(2 * MS);
        for (int i = 0; i < mine; i++)
            count[key[i] * BUCKETS / LARGEST]++;
        MPI_Allreduce(count, all, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        memset(send, 0, sizeof send);
        for (int b = 0, before = 0; b < BUCKETS; before += all[b++]) {
            owner[b] = (int)((long)before * ranks / KEYS);
            send[owner[b]] += count[b];
            start[b + 1] = start[b] + count[b];
        }
        for (int i = 0; i < mine; i++)
            out[start[key[i] * BUCKETS / LARGEST]++] = key[i];
        MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
        total = 0;
        for (int r = 0, s = 0; r < ranks; s += send[r], total += receive[r], r++)
            to[r] = s, from[r] = total;
        MPI_Alltoallv(out, send, to, MPI_INT, in, receive, from, MPI_INT, MPI_COMM_WORLD);
        compute(3 * MS);
        for (int i = 0; i < total; i++)
            ranked[in[i] + 1]++;
        int n = 0, smallest = LARGEST, largest = -1;
        for (int k = 0; k < LARGEST; k++)
            for (int i = 0; i < ranked[k + 1]; i++, n++) {
                in[n] = k;
                smallest = k < smallest ? k : smallest;
                largest = k;
            }
        ok = ok && n == total && n > 0 && smallest <= largest;
    }
    /* Sorted within a rank; so across ranks if none has a key below the largest of the rank before. */
    int before = -1;
    MPI_Request r;
    if (rank > 0)
        MPI_Irecv(&before, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, &r);
    if (rank < ranks - 1)
        MPI_Send(&in[total - 1], 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    if (rank > 0)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    int keys;
    MPI_Allreduce(&total, &keys, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return verified(ok && before <= in[0] && keys == KEYS, keys);
}
