// A component whose source its user does not have: computes 1000 n nanoseconds, then all ranks meet.
#include "solver.hpp"

#include "../work.h"

#include <mpi.h>

namespace {

class Hidden final : public vendor::Solver {
public:
    double solve(int n, const std::vector<double> &start) override
    {
        work_ns(1000 * static_cast<unsigned>(n));
        MPI_Barrier(MPI_COMM_WORLD);
        return static_cast<double>(n) + static_cast<double>(start.size());
    }
};

}

vendor::Solver *vendor::make_solver() { return new Hidden; }
