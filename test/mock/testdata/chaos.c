/* A program whose course depends on the order of everything: what happens is
 * logged with its time, and rank 0 prints the logs. */
#include <stdarg.h>
#include <stdint.h>

#include "check.h"

enum { STEPS = 60, LOG = 20000 };

static char text[LOG];
static int length;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(text + length, (size_t)(LOG - length), format, arguments);
    va_end(arguments);
}

static uint64_t state;

static int chance(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static char out[6000], in[6000];
    state = (uint64_t)rank;
    MPI_Request sends[STEPS], receives[STEPS];
    for (int i = 0; i < STEPS; i++) {
        mock_compute((uint64_t)chance(3000));
        MPI_Isend(out, chance(6000), MPI_CHAR, (rank + i) % size, 0, MPI_COMM_WORLD, &sends[i]);
        MPI_Irecv(in, 6000, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &receives[i]);
        int flag, index;
        MPI_Status s;
        if (chance(3) == 0) {
            MPI_Testany(i + 1, receives, &index, &flag, &s);
            if (flag && index >= 0)
                note(" test %d<%d@%llu", index, s.MPI_SOURCE, (unsigned long long)mock_now());
        }
        if (chance(10) == 0) {
            MPI_Waitany(i + 1, receives, &index, &s);
            note(" wait %d<%d@%llu", index, s.MPI_SOURCE, (unsigned long long)mock_now());
        }
    }
    MPI_Status all[STEPS];
    MPI_Waitall(STEPS, receives, all);
    MPI_Waitall(STEPS, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < STEPS; i++)
        note(" %d", all[i].MPI_SOURCE);
    note(" end@%llu", (unsigned long long)mock_now());
    char *logs = malloc((size_t)size * LOG);
    MPI_Gather(text, LOG, MPI_CHAR, logs, LOG, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == 0; i++)
        printf("rank %d:%s\n", i, logs + (size_t)i * LOG);
    free(logs);
    MPI_Finalize();
    return 0;
}
