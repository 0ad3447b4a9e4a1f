/*
 * A plugin of many functions, each of which calls MPI. PLUGIN tells one from the other: their functions and data differ in
 * size, so that the code of one comes to lie where the other had data, far from where its tables were.
 */
#include <mpi.h>

char plugin_data[(PLUGIN << 18) + 1];

#define WORK(n)                                                                        \
    static __attribute__((noinline)) int work_##n(volatile int *sink)                  \
    {                                                                                  \
        int flag, pad[(n) % 7 + 1 + PLUGIN];                                           \
        pad[0] = *sink + (n);                                                          \
        *sink += pad[0] & PLUGIN;                                                      \
        MPI_Iprobe(MPI_ANY_SOURCE, n, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);        \
        return pad[0] + flag;                                                          \
    }
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n) TEN(X, n##0) TEN(X, n##1) TEN(X, n##2) TEN(X, n##3) TEN(X, n##4) TEN(X, n##5) TEN(X, n##6) TEN(X, n##7) TEN(X, n##8) TEN(X, n##9)
#define ALL(X) HUNDRED(X, 1) HUNDRED(X, 2) HUNDRED(X, 3)

ALL(WORK)

int plugin_work(void);
int plugin_work(void)
{
    volatile int sink = 0;
    int calls = 0;
#define CALL(n) sink += work_##n(&sink), calls++;
    ALL(CALL)
    return calls;
}
