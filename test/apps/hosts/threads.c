/*
 * Eight threads in MPI at once, each with many calls of several kinds: messages to itself, operations that
 * another thread completes, communicators and datatypes that come and go, regions. After "ok" each rank
 * prints how often it has called what.
 *
 *     threads [CALLS-PER-THREAD]
 */
#include "host.h"

#include <marple.h>

#include <pthread.h>

enum { THREADS = 8 };

static int calls_each = 100000;
static MPI_Comm own[THREADS];

/* What one thread starts, the next one completes. */
static struct handover {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int full, in;
    MPI_Request request;
} handovers[THREADS];

static void give(struct handover *h, MPI_Comm comm)
{
    static const int out = 7;
    pthread_mutex_lock(&h->mutex);
    while (h->full)
        pthread_cond_wait(&h->changed, &h->mutex);
    MPI_Irecv(&h->in, 1, MPI_INT, 0, 1, comm, &h->request);
    MPI_Send(&out, 1, MPI_INT, 0, 1, comm);
    h->full = 1;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
}

static void take(struct handover *h)
{
    pthread_mutex_lock(&h->mutex);
    while (!h->full)
        pthread_cond_wait(&h->changed, &h->mutex);
    MPI_Wait(&h->request, MPI_STATUS_IGNORE);
    h->full = 0;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
}

static void *work(void *number)
{
    int me = (int)(long)number, out[2] = {me, me}, in[2];
    MPI_Request requests[2];
    MPI_Comm comm;
    MPI_Datatype pair;
    for (int i = 0; i < calls_each / 100; i++) {
        marple_region_begin("part");
        for (int k = 0; k < 85; k++)
            MPI_Sendrecv(out, 1, MPI_INT, 0, 0, in, 1, MPI_INT, 0, 0, own[me], MPI_STATUS_IGNORE);
        marple_region_end("part");
        comm = own[me];
        if (i % 10 == 0) /* their table has room for 4,096 */
            MPI_Comm_dup(own[me], &comm);
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        for (int k = 0; k < 2; k++) {
            MPI_Irecv(in, 1, pair, 0, 0, comm, &requests[0]);
            MPI_Isend(out, 1, pair, 0, 0, comm, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Type_free(&pair);
        if (i % 10 == 0)
            MPI_Comm_free(&comm);
        give(&handovers[me], own[me]);
        take(&handovers[(me + 1) % THREADS]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    if (argc > 1)
        calls_each = atoi(argv[1]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
        pthread_mutex_init(&handovers[i].mutex, NULL);
        pthread_cond_init(&handovers[i].changed, NULL);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&own[i]);
    MPI_Finalize();
    long rounds = (long)THREADS * (calls_each / 100), dups = THREADS * ((calls_each / 100 + 9L) / 10 + 1);
    made = 85 * rounds;
    int wrong = verdict();
    printf("part %ld\nMPI_Irecv %ld\nMPI_Isend %ld\nMPI_Waitall %ld\nMPI_Wait %ld\nMPI_Send %ld\nMPI_Comm_dup %ld\nMPI_Comm_free %ld\n"
           "MPI_Type_commit %ld\n", rounds, 3 * rounds, 2 * rounds, 2 * rounds, rounds, rounds, dups, dups, rounds);
    return wrong;
}
