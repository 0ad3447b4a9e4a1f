/*
 * The application that N. Trebon's thesis (chapter VI) validates the choice of implementations with, in milliseconds
 * for its seconds:
 *
 *     validation X...
 *
 * A1 takes 2x and B1 x³ for each x, C inside A and D inside B a thousandth; they declare what they are, and what A2
 * and B2 are known to take. Implementations that ran are modelled by the records of their invocations.
 */
#include "work.h"

#include <marple.h>
#include <mpi.h>
#include <stdlib.h>

static struct marple_method driver = MARPLE_METHOD("Driver", "go");
static struct marple_method a = MARPLE_METHOD("A", "go"), b = MARPLE_METHOD("B", "go");
static struct marple_method c = MARPLE_METHOD("C", "go"), d = MARPLE_METHOD("D", "go");

static void component(struct marple_method *method, double x, double ms, struct marple_method *inside)
{
    struct marple_invocation call;
    marple_invocation_begin(&call, method, NULL);
    marple_real(&call, "x", x);
    work_ns((uint64_t)(ms * 1e6));
    if (inside)
        component(inside, x, 1e-3, NULL);
    marple_invocation_end(&call);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        marple_families("families: {A: {implementations: {A1: {fit: yes}, A2: {time: 1e-3*x^2}}}}");
    else
        marple_families("families: {B: {implementations: {B1: {fit: yes}, B2: {time: 2e-3*x^2}}}}");
    marple_families("families:\n"
                    "  C: {implementations: {C1: {measured: yes}, C2: {time: 2e-6}}}\n"
                    "  D: {implementations: {D1: {fit: yes, measured: yes}, D2: {time: 2e-6}}}\n");
    struct marple_invocation call;
    marple_invocation_begin(&call, &driver, NULL);
    for (int i = 1; i < argc; i++) {
        double x = atof(argv[i]);
        component(&a, x, 2 * x, &c);
        component(&b, x, x * x * x, &d);
    }
    marple_invocation_end(&call);
    MPI_Finalize();
    return 0;
}
