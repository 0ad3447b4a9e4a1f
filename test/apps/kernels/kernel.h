/*
 * What the kernels of this directory share. Each is a well-known program in little: its communication and its
 * arithmetic are real, and it checks its result; the time that its computation takes is told.
 *
 *     KERNEL [AILMENT [SIZE [LENGTH]]]
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "../models/model.h"

#include <math.h>

/* Computation that takes ns on each rank; on a slow rank, half as long again. */
static NOINLINE __attribute__((unused)) void compute(double ns)
{
    work_for((uint64_t)(ns * (ails("slow") && rank == ranks / 2 ? 1.5 : 1)));
}

/* What rank 0 does for all of them, if the program has such a phase. */
static NOINLINE __attribute__((unused)) void prepare(double ns)
{
    double found = 0;
    if (!ails("serial"))
        return;
    if (rank == 0)
        work_for((uint64_t)ns);
    MPI_Bcast(&found, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* The pseudo-random numbers of the NAS benchmarks: x = 5^13 x mod 2^46, and n steps of it at once. */
#define MODULUS (1ull << 46)

static inline double next_random(uint64_t *x)
{
    *x = *x * 1220703125ull & (MODULUS - 1);
    return (double)*x / (double)MODULUS;
}

static inline uint64_t skip(uint64_t x, uint64_t n)
{
    for (uint64_t a = 1220703125ull; n; n >>= 1, a = a * a & (MODULUS - 1))
        if (n & 1)
            x = x * a & (MODULUS - 1);
    return x;
}

static inline int near(double got, double want, double error)
{
    return fabs(got - want) <= error * fmax(1, fabs(want));
}

/* Width of the nearly square grid of all ranks. */
static inline int grid_width(void)
{
    int width = 1;
    while (width * width < ranks || ranks % width)
        width++;
    return width;
}

/* Ends the program: every rank says whether what it has is right. */
static inline int verified(int ok, double value)
{
    int all;
    MPI_Reduce(&ok, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %.10g\n", all ? "verified" : "WRONG", value);
    int wrong = rank == 0 && !all;
    MPI_Finalize();
    return wrong;
}

#endif
