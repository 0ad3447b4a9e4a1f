/*
 * Counts MPI calls, and does nothing else: an account that owes nothing to pmpi/, for tests to compare with.
 *
 *     mpicc -x c++ -shared -fPIC -I DIRECTORY counter.cc -o counter.so
 *     LD_PRELOAD=counter.so COUNTER_OUT=DIRECTORY mpirun -n 4 ./program
 *
 * DIRECTORY/functions.h lists the functions, one COUNT(MPI_Send) to a line; their types are those of the MPI
 * library's own mpi.h. At MPI_Finalize each rank writes its calls to the file RANK in COUNTER_OUT, one
 * "MPI_Send 12" to a line. What the library calls of itself, inside a call, does not count.
 */
#define MPICH_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static thread_local int depth;

struct outermost {
    explicit outermost(unsigned long *calls)
    {
        if (depth++ == 0)
            __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
    }
    ~outermost() { depth--; }
};

template <auto next> struct function;
template <typename Result, typename... Parameters, Result (*next)(Parameters...)> struct function<next> {
    static inline unsigned long calls;
    static Result call(Parameters... parameters)
    {
        outermost here(&calls);
        return next(parameters...);
    }
};

/* A symbol that is bound, when the library is loaded, to what its resolver returns: no type is written out. What mpi.h declares and the
   library does not have (MPI_Status_f082f of MPICH 4.2) nobody calls. */
#define PRAGMA(text) _Pragma(#text)
#define COUNT(name)                                                                                             \
    PRAGMA(weak P##name)                                                                                        \
    extern "C" __attribute__((visibility("hidden"))) decltype(&name) resolve_##name() { return function<P##name>::call; } \
    extern "C" __typeof__(name) name __attribute__((ifunc("resolve_" #name), visibility("default")));
#include "functions.h"
#undef COUNT

static const struct {
    const char *name;
    const unsigned long *calls;
} counted[] = {
#define COUNT(name) {#name, &function<P##name>::calls},
#include "functions.h"
#undef COUNT
};

extern "C" __attribute__((visibility("default"))) int MPI_Finalize(void)
{
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", getenv("COUNTER_OUT"), rank);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        abort();
    }
    for (const auto &f : counted)
        if (*f.calls)
            fprintf(file, "%s %lu\n", f.name, *f.calls);
    fprintf(file, "MPI_Finalize 1\n");
    fclose(file);
    return PMPI_Finalize();
}
