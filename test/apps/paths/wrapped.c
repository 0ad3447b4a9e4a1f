/*
 * A function that wraps one of MPI's, called from many places at one depth of the stack; see plain.c for what the
 * lines "path:" mean.
 *
 *     path: main@left > left@in_left > sites@a > wrap@call > MPI_Iprobe x 40
 *     path: main@left > left@in_left > sites@b > wrap@call > MPI_Iprobe x 80
 *     path: main@left > left@in_left > sites@c > wrap@call > MPI_Iprobe x 120
 *     path: main@left > left@in_left > sites@d > wrap@call > MPI_Iprobe x 160
 *     path: main@left > left@in_left > sites@e > wrap@call > MPI_Iprobe x 200
 *     path: main@left > left@in_left > sites@f > wrap@call > MPI_Iprobe x 240
 *     path: main@left > left@in_left > sites@g > wrap@call > MPI_Iprobe x 280
 *     path: main@left > left@in_left > sites@h > wrap@call > MPI_Iprobe x 320
 *     path: main@left > left@in_left > sites@i > wrap@call > MPI_Iprobe x 360
 *     path: main@left > left@in_left > sites@j > wrap@call > MPI_Iprobe x 400
 *     path: main@right > right@in_right > sites@a > wrap@call > MPI_Iprobe x 80
 *     path: main@right > right@in_right > sites@b > wrap@call > MPI_Iprobe x 160
 *     path: main@right > right@in_right > sites@c > wrap@call > MPI_Iprobe x 240
 *     path: main@right > right@in_right > sites@d > wrap@call > MPI_Iprobe x 320
 *     path: main@right > right@in_right > sites@e > wrap@call > MPI_Iprobe x 400
 *     path: main@right > right@in_right > sites@f > wrap@call > MPI_Iprobe x 480
 *     path: main@right > right@in_right > sites@g > wrap@call > MPI_Iprobe x 560
 *     path: main@right > right@in_right > sites@h > wrap@call > MPI_Iprobe x 640
 *     path: main@right > right@in_right > sites@i > wrap@call > MPI_Iprobe x 720
 *     path: main@right > right@in_right > sites@j > wrap@call > MPI_Iprobe x 800
 *     path: main@middle > middle@in_middle > sites@a > wrap@call > MPI_Iprobe x 120
 *     path: main@middle > middle@in_middle > sites@b > wrap@call > MPI_Iprobe x 240
 *     path: main@middle > middle@in_middle > sites@c > wrap@call > MPI_Iprobe x 360
 *     path: main@middle > middle@in_middle > sites@d > wrap@call > MPI_Iprobe x 480
 *     path: main@middle > middle@in_middle > sites@e > wrap@call > MPI_Iprobe x 600
 *     path: main@middle > middle@in_middle > sites@f > wrap@call > MPI_Iprobe x 720
 *     path: main@middle > middle@in_middle > sites@g > wrap@call > MPI_Iprobe x 840
 *     path: main@middle > middle@in_middle > sites@h > wrap@call > MPI_Iprobe x 960
 *     path: main@middle > middle@in_middle > sites@i > wrap@call > MPI_Iprobe x 1080
 *     path: main@middle > middle@in_middle > sites@j > wrap@call > MPI_Iprobe x 1200
 */
#include <mpi.h>

static volatile int once = 1; /* so that no loop is unrolled */

#define STAY __asm__ volatile("" : : : "memory")

static __attribute__((noipa)) void wrap(void)
{
    int flag;
    MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); /* @call */
    STAY;
}

static __attribute__((noipa)) void sites(void)
{
    for (int i = 0; i < 1 * once; i++)
        wrap(); /* @a */
    for (int i = 0; i < 2 * once; i++)
        wrap(); /* @b */
    for (int i = 0; i < 3 * once; i++)
        wrap(); /* @c */
    for (int i = 0; i < 4 * once; i++)
        wrap(); /* @d */
    for (int i = 0; i < 5 * once; i++)
        wrap(); /* @e */
    for (int i = 0; i < 6 * once; i++)
        wrap(); /* @f */
    for (int i = 0; i < 7 * once; i++)
        wrap(); /* @g */
    for (int i = 0; i < 8 * once; i++)
        wrap(); /* @h */
    for (int i = 0; i < 9 * once; i++)
        wrap(); /* @i */
    for (int i = 0; i < 10 * once; i++)
        wrap(); /* @j */
    STAY;
}

static __attribute__((noipa)) void left(void)
{
    sites(); /* @in_left */
    STAY;
}

static __attribute__((noipa)) void right(void)
{
    sites(); /* @in_right */
    STAY;
}

static __attribute__((noipa)) void middle(void)
{
    sites(); /* @in_middle */
    STAY;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 40; round++) {
        for (int k = 0; k < 1 * once; k++)
            left(); /* @left */
        for (int k = 0; k < 2 * once; k++)
            right(); /* @right */
        for (int k = 0; k < 3 * once; k++)
            middle(); /* @middle */
    }
    MPI_Finalize();
    return 0;
}
