/*
 * Functions that the compiler puts into their callers; see plain.c for what the lines "path:" mean. Those in
 * parentheses have no frames of their own, and are found through line tables only.
 *
 *     path: main@a > (outer)@b > (inner)@c > MPI_Barrier x 3
 *     path: main@d > (inner)@c > MPI_Barrier x 3
 *     path: main@e > real@f > (outer)@b > (inner)@c > MPI_Barrier x 3
 *     path: main@g > real@h > (loop)@i > other@j > (inner)@c > MPI_Barrier x 6
 */
#include <mpi.h>

#define STAY __asm__ volatile("" : : : "memory")
#define INLINE static inline __attribute__((always_inline)) void
#define FUNCTION static __attribute__((noipa)) void

INLINE inner(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* @c */
    STAY;
}

INLINE outer(void)
{
    inner(); /* @b */
    STAY;
}

FUNCTION other(void)
{
    inner(); /* @j */
    STAY;
}

INLINE loop(int n)
{
    for (int i = 0; i < n; i++) {
        other(); /* @i */
        STAY;
    }
}

FUNCTION real(int which)
{
    if (which)
        loop(2); /* @h */
    else
        outer(); /* @f */
    STAY;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        outer(); /* @a */
        inner(); /* @d */
        real(0); /* @e */
        real(1); /* @g */
    }
    MPI_Finalize();
    return 0;
}
