/*
 * Regions among functions; see plain.c for what the lines "path:" mean. A name in brackets is a region: it
 * belongs to the function that begins it, and what that function calls meanwhile is inside.
 *
 *     path: main@loop > step@inside > [exchange] > halo@halo > MPI_Barrier x 5
 *     path: main@loop > step@direct > [exchange] > MPI_Barrier x 5
 *     path: main@loop > step@after > MPI_Barrier x 5
 *     path: main@nested > nested@deeper > [outer] > deeper@deep > [inner] > halo@halo > MPI_Barrier x 5
 *     path: main@nested > nested@between > [outer] > MPI_Barrier x 5
 *     path: main@own > wrapped@opens > begin@calls > [wrapped] > halo@halo > MPI_Barrier x 5
 *     path: main@open > open_late@openhalo > [open] > halo@halo > MPI_Barrier x 1
 *     path: main@open > open_late@openstep > [open] > step@inside > [exchange] > halo@halo > MPI_Barrier x 1
 *     path: main@open > open_late@openstep > [open] > step@direct > [exchange] > MPI_Barrier x 1
 *     path: main@open > open_late@openstep > [open] > step@after > MPI_Barrier x 1
 *     path: main@recursion > again@again > [level] > again@again > [level] > again@last > [level] > halo@halo > MPI_Barrier x 5
 */
#include <marple.h>
#include <mpi.h>

#define FUNCTION static __attribute__((noipa)) void
#define STAY __asm__ volatile("" : : : "memory")

FUNCTION halo(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* @halo */
    STAY;
}

FUNCTION step(void)
{
    marple_region_begin("exchange");
    halo(); /* @inside */
    MPI_Barrier(MPI_COMM_WORLD); /* @direct */
    marple_region_end("exchange");
    MPI_Barrier(MPI_COMM_WORLD); /* @after */
    STAY;
}

FUNCTION deeper(void)
{
    marple_region_begin("inner");
    halo(); /* @deep */
    marple_region_end("inner");
}

FUNCTION nested(void)
{
    marple_region_begin("outer");
    deeper(); /* @deeper */
    MPI_Barrier(MPI_COMM_WORLD); /* @between */
    marple_region_end("outer");
}

/* A program's own functions around the hooks. */
FUNCTION begin(const char *name)
{
    marple_region_begin(name);
    STAY;
}

FUNCTION end(const char *name)
{
    marple_region_end(name);
    STAY;
}

FUNCTION wrapped(void)
{
    begin("wrapped"); /* @opens */
    halo(); /* @calls */
    end("wrapped");
}

/* Leaves its region open. */
FUNCTION open_late(void)
{
    marple_region_begin("open");
    STAY;
}

FUNCTION again(int depth)
{
    marple_region_begin("level");
    if (depth > 0)
        again(depth - 1); /* @again */
    else
        halo(); /* @last */
    marple_region_end("level");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++) {
        step(); /* @loop */
        nested(); /* @nested */
        wrapped(); /* @own */
        again(2); /* @recursion */
    }
    open_late(); /* @open */
    halo(); /* @openhalo */
    step(); /* @openstep */
    marple_region_end("open");
    MPI_Finalize();
    return 0;
}
