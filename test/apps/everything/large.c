/*
 * Sizes that do not fit 31 or 32 bits. On MPI_COMM_SELF a broadcast moves nothing, so that its size may be
 * any; a real message of more than 2 GiB is sent where there is memory for it.
 */
#include "expect.h"

#include <sys/mman.h>

#define SELF MPI_COMM_SELF
#define MIB (1ll << 20)
#define COUNT 2049
#define BIG (COUNT * MIB)
#define ENOUGH (6 << 20) /* KiB */

static long available_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

/* A real one, from rank 0 to itself: it must not take long where ranks share a core. */
static void message(MPI_Datatype mib)
{
    MPI_Request request;
    if (rank || available_kib() < ENOUGH)
        return;
    char *memory = mmap(NULL, 2 * BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    memory[BIG - 1] = 42;
    CALL(Irecv, on(SELF), 0, 0, memory + BIG, COUNT, mib, 0, 33, SELF, &request);
    CALL(Send, on(SELF), BIG, 0, memory, COUNT, mib, 0, 33, SELF);
    sent(SELF, 0, BIG);
    DO(Wait, &request, MPI_STATUS_IGNORE);
    arrived("MPI_Irecv", SELF, 0, BIG);
    CHECK(memory[2 * BIG - 1] == 42);
    munmap(memory, 2 * BIG);
}

void large(void)
{
    static char one;
    MPI_Datatype mib, three_gib;
    DO(Type_contiguous, MIB, MPI_CHAR, &mib);
    DO(Type_commit, &mib);
    for (long long size = 1023; size <= 5120; size += 1024) /* around 1, 2, 3 and 4 GiB */
        for (int more = 0; more < 3; more++)
            CALL(Bcast, on(SELF), (size + more) * MIB, 0, &one, (int)size + more, mib, 0, SELF);
    /* A single element of a type that large */
    DO(Type_contiguous, 3072, mib, &three_gib);
    DO(Type_commit, &three_gib);
    CALL(Bcast, on(SELF), 3072 * MIB, 0, &one, 1, three_gib, 0, SELF);
    CALL(Bcast, on(SELF), 5 * 3072 * MIB, 0, &one, 5, three_gib, 0, SELF);
    message(mib);
    DO(Type_free, &three_gib);
    DO(Type_free, &mib);
}
