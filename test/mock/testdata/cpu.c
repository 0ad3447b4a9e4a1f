/* --cpu: computing takes the CPU time of the thread, but for what reading the clock
 * takes, and nothing else does; what
 * messages take is added as in virtual time. */
#include <time.h>
#include <unistd.h>

#include "check.h"

static uint64_t cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
    for (uint64_t end = cpu() + ns; cpu() < end;)
        continue;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int quick = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t outer = cpu(), from = mock_now(), inner = cpu();
        burn((uint64_t)(1 + rank) * 100000);
        inner = cpu() - inner;
        uint64_t took = mock_now() - from;
        outer = cpu() - outer;
        CHECK(inner <= took && took <= outer);

        from = mock_now();
        usleep(1000000); /* not for real */
        CHECK(mock_now() - from >= 1000000000 && mock_now() - from < 1100000000);

        /* To read the clock takes no time, nor does a tool around a call. */
        from = mock_now(), outer = cpu();
        for (int k = 0; k < 1000; k++)
            mock_now();
        took = mock_now() - from, outer = cpu() - outer;
        CHECK(took <= outer);
        quick += 4 * took < 3 * outer; /* unless something else has used the caches */
        MPI_Request request;
        outer = cpu(), from = marple_clock_external();
        burn(3000);
        MPI_Isend(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        burn(3000);
        took = marple_clock_external() - from, outer = cpu() - outer;
        CHECK(took == 0 || outer > 20000); /* which is longer than a tool takes */
        burn(3000);
        CHECK(marple_clock_external() >= from + 1000);
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);

        /* A message arrives after it was sent, however long its receiver has had a core. */
        uint64_t sent[2] = {mock_now(), 0}, came[2] = {0, 0};
        MPI_Sendrecv(&sent, 2, MPI_UINT64_T, (rank + 1) % size, 0, &came, 2, MPI_UINT64_T, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(mock_now() >= came[0] + 1000);

        /* Waiting is no computing: all leave at one time, but for what they have computed since. */
        uint64_t last = mock_now(), latest = 0;
        MPI_Allreduce(&last, &latest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
        CHECK(mock_now() >= latest);
    }
    CHECK(quick > 0);
    CHECK((double)mock_now() / 1e9 <= MPI_Wtime() && MPI_Wtime() < 60);
    MPI_Finalize();
    return 0;
}
