/*
 * A family of three behind a proxy. Its best implementation changes in mid-run, and all ranks must take the same one,
 * which communicates: ranks that disagreed would wait for each other.
 *
 *     main POLICY [kill]      kill: dies before MPI_Finalize
 */
#include "worker_family.hpp"

#include "../work.h"

#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

int rank, ranks;

class Member : public exchange::Worker {
public:
    Member(int id, int ns) : ns_(ns), id_(id) {}
    /* Which implementation a message is of is its tag. */
    int work(int n) override
    {
        work_ns(static_cast<std::uint64_t>(ns_ * (1 + rank) + n));
        int in = 0;
        MPI_Sendrecv(&n, 1, MPI_INT, (rank + 1) % ranks, id_, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, id_, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return in;
    }
    int ns_;

private:
    int id_;
};

}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Member flat(0, 20000), linear(1, 60000), steep(2, 40000);
    exchange::WorkerFamily proxy({flat, linear, steep}, argv[1]);
    exchange::Worker *port = &proxy;
    long sum = 0;
    for (int step = 0; step < 300; step++) {
        if (step == 150)
            flat.ns_ = 200000;
        MPI_Barrier(MPI_COMM_WORLD); /* a fixed policy needs no sum, and would let ranks run ahead */
        for (int call = 0; call < 2; call++)
            sum += port->work(128 + step % 100); /* of one size */
        proxy.marple_quiet([](long long *values, int n) {
            MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        });
    }
    if (sum != 2L * (300 * 128 + 3 * 4950))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (argc > 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        std::raise(SIGKILL);
    }
    MPI_Finalize();
}
