/* A plugin for loading.c, made several times with another NAME. */
#include <mpi.h>

#define STAY __asm__ volatile("" : : : "memory")
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

static __attribute__((noipa)) void JOIN(inner_, NAME)(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* @inner */
    STAY;
}

void work(void)
{
    JOIN(inner_, NAME)(); /* @work */
    STAY;
}
