/*
 * Modules that are loaded and unloaded while the program runs, so that one comes to lie where another was;
 * see plain.c for what the lines "path:" mean. Prints how many times a plugin lay where one was before.
 *
 *     path: main@main > call@call > work@work > inner_one@inner > MPI_Barrier x 6
 *     path: main@main > call@call > work@work > inner_two@inner > MPI_Barrier x 6
 *     path: main@main > call@call > work@work > inner_three@inner > MPI_Barrier x 6
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define STAY __asm__ volatile("" : : : "memory")

static __attribute__((noipa)) void call(void (*work)(void))
{
    work(); /* @call */
    STAY;
}

int main(int argc, char **argv)
{
    void *last = NULL;
    int same = 0, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; round++)
        for (int i = 1; i < argc; i++) {
            void *plugin = dlopen(argv[i], RTLD_NOW), *work = plugin ? dlsym(plugin, "work") : NULL;
            if (!work) {
                fprintf(stderr, "%s\n", dlerror());
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            for (int k = 0; k < 2; k++)
                call((void (*)(void))work); /* @main */
            same += work == last;
            last = work;
            dlclose(plugin);
        }
    if (rank == 0)
        printf("%d\n", same);
    MPI_Finalize();
    return 0;
}
