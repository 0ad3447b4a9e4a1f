/*
 * A family that rules manage: its size grows in mid-run, and the implementation for large sizes has a block to be
 * tuned. It communicates, so that ranks which disagreed about who serves or with which block would wait for each other.
 *
 *     managed [exact|kill]      exact: on a clock that only work moves; kill: dies before MPI_Finalize
 */
#include "worker_family.hpp"

#include "../work.h"

#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

int rank, ranks;

class Member : public exchange::Worker, public marple::tunable {
public:
    Member(int id, int fixed, int each, int uneven) : id_(id), fixed_(fixed), each_(each), uneven_(uneven) {}
    int work(int n) override
    {
        const long long off = id_ == 1 ? std::llabs(block_ - 24) * 1000 : 0;
        work_ns(static_cast<std::uint64_t>(fixed_ + each_ * n + uneven_ * rank + off));
        /* Which implementation with which block a message is of is its tag. */
        int in = 0, tag = id_ * 1000 + static_cast<int>(block_);
        MPI_Sendrecv(&n, 1, MPI_INT, (rank + 1) % ranks, tag, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return in;
    }
    std::vector<marple::setting> settings() const override
    {
        if (id_ == 1)
            return {{"block", 8, 64, 4}};
        return {};
    }
    long long get(const std::string &) const override { return block_; }
    void set(const std::string &, long long value) override { block_ = value; }
    long long block_ = 64;

private:
    int id_, fixed_, each_, uneven_;
};

}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Member flat(0, 10000, 10, 20000), linear(1, 40000, 2, 0), steep(2, 20000, 20, 5000);
    exchange::WorkerFamily proxy({flat, linear, steep});
    exchange::Worker *port = &proxy;
    long sum = 0;
    for (int step = 0; step < 120; step++) {
        for (int call = 0; call < 2; call++)
            sum += port->work(step < 60 ? 256 : 2048);
        proxy.marple_quiet([](long long *values, int n) {
            MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        });
    }
    const std::string how = argc > 1 ? argv[1] : "";
    if (sum != 120L * (256 + 2048) || (how == "exact" && linear.block_ != 24))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (how == "kill") {
        MPI_Barrier(MPI_COMM_WORLD);
        std::raise(SIGKILL);
    }
    MPI_Finalize();
}
