/* A program without MPI, which says that it runs. */
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    puts("runs");
    return argc > 1 ? 5 : 0;
}
