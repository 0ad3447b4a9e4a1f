/*
 * A program with much thread-local storage, which the C library takes out of each thread's stack: OpenBLAS has
 * 60 KiB of it, and others have more. No thread can be made with a small stack.
 */
#include "host.h"

static _Thread_local char locals[200 << 10];

static void plain(void)
{
    MPI_Init(NULL, NULL);
    locals[sizeof locals - 1] = 7;
    steps(2 * MANY);
    expect(locals[sizeof locals - 1] == 7, "the thread's variables have changed");
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"plain", plain}, {NULL, NULL}};
    return choose(modes, argc, argv);
}
