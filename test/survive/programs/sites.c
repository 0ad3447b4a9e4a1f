/* Calls from 5,000 places, over and over: more than walks are remembered. A second argument: leaves without MPI_Finalize. */
#include "counted.h"

#include <unistd.h>

#define CALL(n)                                                                          \
    case n:                                                                              \
        MPI_Iprobe(MPI_ANY_SOURCE, n, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);         \
        /* fall through */
#define TEN(n) CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4) CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define THOUSAND(n)                                                                                       \
    HUNDRED(n##0) HUNDRED(n##1) HUNDRED(n##2) HUNDRED(n##3) HUNDRED(n##4) HUNDRED(n##5) HUNDRED(n##6)     \
    HUNDRED(n##7) HUNDRED(n##8) HUNDRED(n##9)
#define PLACES(name, n)                                                                  \
    static __attribute__((noinline)) void name(int from)                                 \
    {                                                                                    \
        int flag;                                                                        \
        switch (from) {                                                                  \
            THOUSAND(n)                                                                  \
            break;                                                                       \
        }                                                                                \
    }
PLACES(first, 1)
PLACES(second, 2)
PLACES(third, 3)
PLACES(fourth, 4)
PLACES(fifth, 5)

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < rounds; i++) {
        first(1000);
        second(2000);
        third(3000);
        fourth(4000);
        fifth(5000);
    }
    counted("MPI_Iprobe", 5000L * rounds);
    if (argc > 2)
        _exit(0);
    MPI_Finalize();
    return 0;
}
