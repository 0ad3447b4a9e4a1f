/* Put, get and accumulate between fences. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int memory[8] = {0}, out[4] = {rank, rank + 1, rank + 2, rank + 3}, in[3] = {-1, -1, -1};
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);

    MPI_Put(out, 4, MPI_INT, right, 2, 4, MPI_INT, win);
    MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    CHECK(size == 1 || memory[2] == 0);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(memory[i], i >= 2 && i < 6 ? left + i - 2 : 0);

    MPI_Get(in, 2, MPI_INT, right, 3, 2, MPI_INT, win);
    MPI_Get(in + 2, 1, MPI_INT, left, 5, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(in[0] == rank + 1 && in[1] == rank + 2);
    CHECK_EQUAL(in[2], (left + size - 1) % size + 3);

    /* Everybody adds into the same place, and into every second one. */
    MPI_Datatype second;
    MPI_Type_vector(2, 1, 2, MPI_INT, &second);
    MPI_Type_commit(&second);
    memset(memory, 0, sizeof memory);
    MPI_Win_fence(0, win);
    for (int i = 0; i < size; i++) {
        MPI_Accumulate(&rank, 1, MPI_INT, i, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(out, 2, MPI_INT, i, 3, 1, second, MPI_SUM, win);
        MPI_Accumulate(&rank, 1, MPI_INT, i, 7, 1, MPI_INT, MPI_MAX, win);
    }
    MPI_Type_free(&second);
    MPI_Win_fence(0, win);
    int sum = size * (size - 1) / 2;
    CHECK(memory[0] == sum && memory[3] == sum && memory[5] == sum + size && memory[4] == 0);
    CHECK_EQUAL(memory[7], size - 1);
    MPI_Accumulate(out, 1, MPI_INT, right, 1, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Accumulate(out, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_NO_OP, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[1] == left && memory[0] == sum);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);

    double *own, x = rank + 0.5;
    MPI_Win_allocate(2 * sizeof *own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_DOUBLE, left, sizeof x, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    CHECK(own[1] == right + 0.5);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQUAL(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    MPI_Win_free(&win);
    MPI_Win_allocate(sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    CHECK_EQUAL(MPI_Put(&x, 1, MPI_DOUBLE, size, 0, 1, MPI_DOUBLE, win), MPI_ERR_RANK);
    MPI_Put(&x, 1, MPI_DOUBLE, right, 1, 1, MPI_DOUBLE, win);
    MPI_Get(&x, 1, MPI_DOUBLE, right, -1, 1, MPI_DOUBLE, win);
    CHECK_EQUAL(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
