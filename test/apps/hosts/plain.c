/* A program without peculiarities, to be built in peculiar ways; with a child or two. */
#include "host.h"

#include <sys/wait.h>

int main(int argc, char **argv)
{
    int level = argc > 1 ? atoi(argv[1]) : 0, provided;
    if (level)
        MPI_Init_thread(&argc, &argv, level, &provided);
    else
        MPI_Init(&argc, &argv);
    char *kept = malloc(100);
    steps(MANY);
    int status = system("exit 3");
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, "system: %x", status);
    free(kept);
    MPI_Finalize();
    return verdict();
}
