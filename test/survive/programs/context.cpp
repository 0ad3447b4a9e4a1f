// Calls MPI on fibers of Boost.Context, which take turns.
#include "counted.h"

#include <boost/context/fiber.hpp>
#include <vector>

int main(int argc, char **argv)
{
    enum { FIBERS = 4, CALLS = 300 };
    namespace context = boost::context;
    MPI_Init(&argc, &argv);
    std::vector<context::fiber> fibers;
    for (int f = 0; f < FIBERS; f++)
        fibers.emplace_back([](context::fiber &&back) {
            for (int i = 0; i < CALLS; i++) {
                int flag;
                MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
                back = std::move(back).resume();
            }
            return std::move(back);
        });
    for (bool more = true; more;) {
        more = false;
        for (auto &f : fibers)
            if (f) {
                f = std::move(f).resume();
                more = true;
            }
    }
    counted("MPI_Iprobe", FIBERS * CALLS);
    MPI_Finalize();
    return 0;
}
