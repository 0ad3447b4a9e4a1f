/* Calls that are measured although they move nothing between ranks. */
#include "expect.h"

void local_calls(void)
{
    int a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
    DO(Reduce_local, a, b, 3, MPI_INT, MPI_SUM);
    CHECK(b[2] == 33);
    COUNTS(DO(Reduce_local_c, a, b, 3, MPI_INT, MPI_SUM);
         CHECK(b[2] == 36);)
}
