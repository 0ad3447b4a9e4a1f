/*
 * A plugin whose own functions have the names of Fortran's: R's package Rmpi has, and hands them to R in a table.
 * Built twice: as the plugin (-DPLUGIN), and as the program that loads it.
 */
#ifdef PLUGIN
#include <mpi.h>

static double kept[9];

double *mpi_sendrecv(double a, int out, long b, long c, long d, long e, long f, long g, float h)
{
    int in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    double all[] = {a, in, b, c, d, e, f, g, h};
    for (int i = 0; i < 9; i++)
        kept[i] = all[i];
    return kept;
}

double mpi_barrier(double x)
{
    return x / 2;
}

double *mpi_finalize(void)
{
    MPI_Finalize();
    return kept;
}

const struct plugin {
    double *(*sendrecv)(double, int, long, long, long, long, long, long, float);
    double (*barrier)(double);
    double *(*finalize)(void), *kept;
} plugin = {mpi_sendrecv, mpi_barrier, mpi_finalize, kept};

#else
#include "host.h"

#include <dlfcn.h>

struct plugin {
    double *(*sendrecv)(double, int, long, long, long, long, long, long, float);
    double (*barrier)(double);
    double *(*finalize)(void), *kept;
};

static void own(void)
{
    void *library = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    const struct plugin *p = library ? dlsym(library, "plugin") : NULL;
    expect(p != NULL, "the plugin: %s", dlerror());
    if (!p)
        return;
    MPI_Init(NULL, NULL);
    steps(MANY);
    for (int i = 0; i < MANY; i++) {
        double *got = p->sendrecv(0.5, i, 3, 4, 5, 6, 7, 8L << 40, 9.25f);
        expect(got == p->kept, "mpi_sendrecv returned %p for %p", (void *)got, (void *)p->kept);
        double want[] = {0.5, i, 3, 4, 5, 6, 7, 8L << 40, 9.25};
        expect(memcmp(p->kept, want, sizeof want) == 0, "arguments of call %d have changed", i);
        expect(p->barrier(i) == i / 2.0, "mpi_barrier(%d)", i);
    }
    made += MANY;
    expect(p->finalize() == p->kept, "mpi_finalize");
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"own", own}, {NULL, NULL}};
    return choose(modes, argc, argv);
}
#endif
