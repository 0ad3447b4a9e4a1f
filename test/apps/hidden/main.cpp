// Uses the component through the proxy that marple proxygen makes of its header.
#include "solver_proxy.hpp"

#include <memory>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const std::unique_ptr<vendor::Solver> solver(vendor::make_solver());
    vendor::SolverProxy proxy(*solver);
    double sum = 0;
    for (int n = 1; n <= 3; n++)
        sum += proxy.solve(n, std::vector<double>(10));
    MPI_Finalize();
    return sum == 36 ? 0 : 1;
}
