/* Starts itself again with an empty environment but for what the launcher and MPI need, as set-user-ID programs do. */
#define _GNU_SOURCE
#include "host.h"

#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    if (argc == 1) {
        char *kept[200] = {NULL}, *again[] = {argv[0], "again", NULL};
        int n = 0;
        for (char **v = environ; *v && n < 199; v++)
            if (strncmp(*v, "LD_", 3) != 0 && strncmp(*v, "MARPLE_", 7) != 0)
                kept[n++] = *v;
        clearenv();
        execve("/proc/self/exe", again, kept);
        return 1;
    }
    MPI_Init(&argc, &argv);
    steps(MANY);
    MPI_Finalize();
    return verdict();
}
