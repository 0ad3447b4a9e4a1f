// An error handler, and an operation, that throw through the MPI library; the calls that follow are deeper in the stack.
#include "counted.h"

#include <stdexcept>
#include <string>

static void failed(MPI_Comm *, int *code, ...)
{
    throw std::runtime_error(std::to_string(*code != MPI_SUCCESS));
}

static void adds(void *in, void *inout, int *length, MPI_Datatype *)
{
    for (int i = 0; i < *length; i++)
        if (((int *)in)[i] < 0)
            throw std::domain_error("negative");
        else
            ((int *)inout)[i] += ((int *)in)[i];
}

static __attribute__((noinline)) void exchange(int n)
{
    volatile char room[700]; // the words of a call that has been left may be among these
    room[0] = 0;
    for (int i = 0, in; i < n; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    (void)room[0];
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 100 };
    int caught = 0, sum = 0;
    MPI_Errhandler handler;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(failed, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Op_create(adds, 1, &op);
    for (int i = 0; i < ROUNDS; i++) {
        try {
            MPI_Send(nullptr, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } catch (const std::runtime_error &) {
            caught++;
            exchange(1);
        }
        try {
            int value = i % 2 ? i : -i - 1;
            MPI_Reduce_local(&value, &sum, 1, MPI_INT, op);
        } catch (const std::domain_error &) {
            caught++;
        }
        exchange(2);
    }
    printf("says %d %d\n", caught, sum);
    counted("MPI_Sendrecv", 3 * ROUNDS);
    counted("MPI_Send", ROUNDS);
    counted("MPI_Reduce_local", ROUNDS);
    MPI_Finalize();
    return 0;
}
