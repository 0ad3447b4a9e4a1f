/*
 * What a program with PerfStubs does: perfstubs_api looks up the functions ps_tool_* in the process, and its macros call them. No
 * tool: nothing happens.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#define EACH(X)                                                                                                                \
    X(void, initialize, (void)) X(void, register_thread, (void)) X(void *, timer_create, (const char *))                       \
    X(void, timer_start, (const void *)) X(void, timer_stop, (const void *)) X(void *, create_counter, (const char *))         \
    X(void, sample_counter, (const void *, double)) X(void, set_metadata, (const char *, const char *)) X(void, finalize, (void)) \
    X(void, dynamic_phase_start, (const char *, int)) X(void, dynamic_phase_stop, (const char *, int))                         \
    X(void, start_string, (const char *)) X(void, stop_current, (void)) X(void, resume_measurement, (void))
#define DECLARE(type, name, parameters) static type(*name) parameters;
EACH(DECLARE)

static volatile double sink;
static void work(void)
{
    for (int i = 1; i < 20000; i++)
        sink += 1.0 / i;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#define FIND(type, name, parameters) *(void **)&name = dlsym(RTLD_DEFAULT, "ps_tool_" #name);
    EACH(FIND)
    if (initialize) {
        initialize();
        register_thread();
        void *advance = timer_create("advance particles"), *count = create_counter("particles");
        set_metadata("species", "electrons");
        for (int i = 0; i < 5; i++) {
            dynamic_phase_start("push", i);
            timer_start(advance);
            work();
            timer_stop(advance);
            start_string("deposit charge");
            sample_counter(count, 1000.5 + i);
            MPI_Barrier(MPI_COMM_WORLD);
            stop_current();
            dynamic_phase_stop("push", i);
        }
        MPI_Pcontrol(7); /* the program's own phase, which stays: nothing was paused */
        resume_measurement();
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        finalize();
    }
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
