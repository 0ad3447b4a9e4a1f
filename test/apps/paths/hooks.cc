/*
 * Functions that say when they begin and end (-finstrument-functions), left in every way there is; see plain.c for
 * what the lines "path:" mean. A line "calls:" says how often a function began on each rank.
 *
 *     path: main@simple > simple@leaf > leaf@probe > MPI_Iprobe x 10
 *     path: main@plain > plain@again > leaf@probe > MPI_Iprobe x 10
 *     path: main@throws > catcher@try > middle@middle > thrower@before > leaf@probe > MPI_Iprobe x 10
 *     path: main@throws > catcher@caught > leaf@probe > MPI_Iprobe x 10
 *     path: main@jumps > jumper@jumper > far@far > leaf@probe > MPI_Iprobe x 10
 *     path: main@jumps2 > jumper@jumper > far@far > leaf@probe > MPI_Iprobe x 10
 *     path: main@direct > MPI_Iprobe x 10
 *     path: main@sibling > plain@again > leaf@probe > MPI_Iprobe x 10
 *     path: main@region > [region] > simple@leaf > leaf@probe > MPI_Iprobe x 10
 *     path: main@bottom > leaf@probe > MPI_Iprobe x 1
 *
 *     calls: simple 20
 *     calls: leaf 81
 *     calls: catcher 10
 *     calls: middle 10
 *     calls: thrower 10
 *     calls: jumper 20
 *     calls: far 20
 *     calls: idle 30
 */
#include <csetjmp>
#include <marple.h>
#include <mpi.h>
#include <stdexcept>

#define FUNCTION static __attribute__((noipa))
#define HIDDEN FUNCTION __attribute__((no_instrument_function))
#define STAY __asm__ volatile("" : : : "memory")

FUNCTION void leaf()
{
    int flag;
    MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); // @probe
    STAY;
}

FUNCTION void idle()
{
    STAY;
}

FUNCTION void simple()
{
    idle();
    leaf(); // @leaf
    STAY;
}

/* Not instrumented itself. */
HIDDEN void plain()
{
    leaf(); // @again
    STAY;
}

FUNCTION void thrower()
{
    leaf(); // @before
    throw std::runtime_error("on purpose");
}

FUNCTION void middle()
{
    thrower(); // @middle
    STAY;
}

FUNCTION void catcher()
{
    try {
        middle(); // @try
    } catch (const std::exception &) {
        leaf(); // @caught
    }
    STAY;
}

static std::jmp_buf out;

FUNCTION void far()
{
    leaf(); // @far
    std::longjmp(out, 1);
}

FUNCTION void jumper()
{
    far(); // @jumper
    STAY;
}

/* Deeper than what is kept of open functions. */
FUNCTION void deep(int depth)
{
    if (depth > 0)
        deep(depth - 1);
    STAY;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (volatile int i = 0; i < 10; i++) {
        int flag;
        simple(); // @simple
        plain();  // @plain
        catcher(); // @throws
        if (setjmp(out) == 0)
            jumper(); // @jumps
        MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); // @direct
        if (setjmp(out) == 0)
            jumper(); // @jumps2
        plain(); // @sibling
        marple_region_begin("region");
        simple(); // @region
        marple_region_end("region");
        idle();
    }
    deep(300);
    leaf(); // @bottom
    MPI_Finalize();
    return 0;
}
