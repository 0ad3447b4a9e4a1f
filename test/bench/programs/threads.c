/*
 * Nanoseconds per MPI call with threads in MPI at once: thread CPU time, the best of several rounds. What
 * libraries do about threads that meet in them is in the figure; MPI_Pack needs no lock in most. Prints one
 * line per call: name and nanoseconds.
 *
 *     threads THREADS ROUNDS CALLS-PER-ROUND
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64 };

static int threads, rounds, calls;
static MPI_Comm own[MOST];
static pthread_barrier_t together;
static double best[2][MOST];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pack(int me)
{
    double a = me;
    char room[8];
    int position = 0;
    MPI_Pack(&a, 1, MPI_DOUBLE, room, sizeof room, &position, own[me]);
}

static void sendrecv(int me)
{
    double a = me, b;
    MPI_Sendrecv(&a, 1, MPI_DOUBLE, 0, 1, &b, 1, MPI_DOUBLE, 0, 1, own[me], MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*call)(int me);
} kinds[] = {{"Pack", pack}, {"Sendrecv", sendrecv}};

static void *work(void *number)
{
    int me = (int)(long)number;
    for (int k = 0; k < 2; k++) {
        best[k][me] = 1e30;
        for (int r = 0; r < rounds; r++) {
            pthread_barrier_wait(&together);
            double start = now();
            for (int i = 0; i < calls; i++)
                kinds[k].call(me);
            double ns = (now() - start) / calls;
            best[k][me] = ns < best[k][me] ? ns : best[k][me];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t others[MOST];
    threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : 10;
    calls = argc > 3 ? atoi(argv[3]) : 50000;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
    for (long i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, work, (void *)i);
    work((void *)0);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    for (int k = 0; k < 2; k++) {
        double mean = 0;
        for (int i = 0; i < threads; i++)
            mean += best[k][i] / threads;
        printf("%s %.1f\n", kinds[k].name, mean);
    }
    MPI_Finalize();
    return 0;
}
