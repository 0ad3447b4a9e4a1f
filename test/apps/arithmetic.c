/*
 * Programs whose work is real, and of which nobody is told how long it takes:
 *
 *     arithmetic jacobi|transpose|sort|farm [ill]
 *
 * jacobi: rows of a grid, halos, a norm in each step.          ill: one rank has half as many rows again
 * transpose: columns are transformed, then rows (all to all).  ill: one rank transforms its columns one and a half times
 * sort: sample sort of random keys.                            ill: half of all keys lie in one rank's range
 * farm: numbers are searched for primes.                       ill: the master looks at each result for as long as a worker
 *
 * The last but one rank is the slow one. Rank 0 prints the program's time without MPI_Init.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, ill;

static int slow(void) { return ill && rank == ranks - 2; }

static __attribute__((noinline)) double smooth(const double *from, double *to, int rows, int columns)
{
    double change = 0;
    for (int i = 1; i <= rows; i++)
        for (int k = 1; k < columns - 1; k++) {
            const double *x = from + i * columns + k;
            double y = 0.25 * (x[-1] + x[1] + x[-columns] + x[columns]);
            change += (y - *x) * (y - *x);
            to[i * columns + k] = y;
        }
    return change;
}

static double jacobi(void)
{
    enum { columns = 400, usual = 500, steps = 300 };
    int rows = slow() ? usual * 3 / 2 : usual, up = rank ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    double *a = calloc((size_t)(rows + 2) * columns, sizeof *a), *b = calloc((size_t)(rows + 2) * columns, sizeof *b), norm = 0;
    for (int k = 0; k < columns; k++)
        a[(rank == 0 ? 0 : rows) * columns + k] = b[k] = 1;
    for (int s = 0; s < steps; s++) {
        MPI_Request r[4];
        MPI_Irecv(a, columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(a + (rows + 1) * columns, columns, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &r[1]);
        MPI_Isend(a + columns, columns, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &r[2]);
        MPI_Isend(a + rows * columns, columns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &r[3]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        double change = smooth(a, b, rows, columns), *other = a;
        MPI_Allreduce(&change, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        a = b;
        b = other;
    }
    return norm;
}

/* As a Fourier transform does it, but for the order of its results. */
static __attribute__((noinline)) void transform(double *x, int n, int columns)
{
    for (int c = 0; c < columns; c++, x += n)
        for (int half = n / 2; half > 0; half /= 2)
            for (int at = 0; at < n; at += 2 * half)
                for (int k = at; k < at + half; k++) {
                    double sum = x[k] + x[k + half], difference = x[k] - x[k + half];
                    x[k] = sum * 0.70710678;
                    x[k + half] = difference * 0.70710678;
                }
}

static double transpose(void)
{
    enum { steps = 12 };
    int n = 2048, columns = n / ranks;
    double *x = malloc(sizeof *x * (size_t)(n * columns)), *y = malloc(sizeof *y * (size_t)(n * columns));
    for (int i = 0; i < n * columns; i++)
        x[i] = i % 17;
    for (int s = 0; s < steps; s++) {
        for (int pass = 0; pass < 2; pass++) {
            transform(x, n, columns);
            if (slow())
                transform(x, n, columns / 2);
            MPI_Alltoall(x, columns * columns, MPI_DOUBLE, y, columns * columns, MPI_DOUBLE, MPI_COMM_WORLD);
            memcpy(x, y, sizeof *x * (size_t)(n * columns));
        }
    }
    return x[1];
}

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sort(void)
{
    enum { mine = 20000, rounds = 40 };
    double *keys = malloc(mine * sizeof *keys), *got = malloc(sizeof *got * (size_t)(mine * ranks)), sum = 0;
    int *out = malloc(sizeof *out * (size_t)ranks), *in = malloc(sizeof *in * (size_t)ranks), *from = malloc(sizeof *from * (size_t)ranks),
        *to = malloc(sizeof *to * (size_t)ranks);
    srand(17 + (unsigned)rank);
    for (int r = 0; r < rounds; r++) {
        memset(out, 0, sizeof *out * (size_t)ranks);
        for (int i = 0; i < mine; i++) {
            keys[i] = rand() / (RAND_MAX + 1.0);
            if (ill && i % 2)
                keys[i] = (ranks - 2 + keys[i]) / ranks;
        }
        qsort(keys, mine, sizeof *keys, order);
        for (int i = 0; i < mine; i++)
            out[(int)(keys[i] * ranks)]++;
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0, o = 0, n = 0; i < ranks; o += out[i], n += in[i], i++)
            from[i] = o, to[i] = n;
        MPI_Alltoallv(keys, out, from, MPI_DOUBLE, got, in, to, MPI_DOUBLE, MPI_COMM_WORLD);
        qsort(got, (size_t)(to[ranks - 1] + in[ranks - 1]), sizeof *got, order);
        sum += got[0];
    }
    return sum;
}

static __attribute__((noinline)) int primes(int from, int to)
{
    int found = 0;
    for (int n = from; n < to; n++) {
        int d = 2;
        while (d * d <= n && n % d)
            d++;
        found += d * d > n;
    }
    return found;
}

static double farm(void)
{
    enum { tasks = 4000, size = 400, first = 1000000 };
    int sum = 0, task = 0, found = 0;
    if (rank == 0) {
        for (int open = ranks - 1, next = 0; open > 0;) {
            MPI_Status s;
            MPI_Recv(&found, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s);
            sum += found > 0 ? found : 0;
            if (ill)
                sum -= primes(first, first + size) < 0;
            int give = next < tasks ? next++ : -1;
            open -= give < 0;
            MPI_Send(&give, 1, MPI_INT, s.MPI_SOURCE, 0, MPI_COMM_WORLD);
        }
        return sum;
    }
    for (MPI_Send(&found, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);; MPI_Send(&found, 1, MPI_INT, 0, 0, MPI_COMM_WORLD)) {
        MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task < 0)
            return 0;
        found = primes(first + task * size, first + (task + 1) * size);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*run)(void);
    } programs[] = {{"jacobi", jacobi}, {"transpose", transpose}, {"sort", sort}, {"farm", farm}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ill = argc > 2 && strcmp(argv[2], "ill") == 0;
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(argv[1], programs[i].name) == 0) {
            double begin = MPI_Wtime(), result = programs[i].run();
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0)
                printf("%s %.9f %g\n", argv[1], MPI_Wtime() - begin, result);
        }
    MPI_Finalize();
}
