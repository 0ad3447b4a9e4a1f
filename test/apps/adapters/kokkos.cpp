// Kernels, a region, a section, a copy and memory of Kokkos, between MPI calls.
#include <Kokkos_Core.hpp>
#include <mpi.h>
#include <cstdio>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    Kokkos::initialize(argc, argv);
    double norm = 0, all = 0;
    {
        const int n = 100000;
        Kokkos::View<double *> x("x", n), y("y", n);
        uint32_t section;
        Kokkos::Profiling::createProfileSection("smoothing", &section);
        for (int step = 0; step < 10; step++) {
            Kokkos::Profiling::pushRegion("time step");
            Kokkos::parallel_for("axpy", n, KOKKOS_LAMBDA(int i) { y(i) += 0.5 * x(i) + 1; });
            Kokkos::Profiling::startSection(section);
            Kokkos::parallel_for("smooth", n - 2, KOKKOS_LAMBDA(int i) { x(i + 1) = (y(i) + y(i + 2)) / 2; });
            Kokkos::Profiling::stopSection(section);
            Kokkos::parallel_reduce("norm", n, KOKKOS_LAMBDA(int i, double &sum) { sum += x(i) * x(i); }, norm);
            Kokkos::deep_copy(y, x);
            MPI_Allreduce(&norm, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            Kokkos::Profiling::popRegion();
        }
    }
    std::printf("norm %s\n", all > 0 ? "positive" : "zero");
    Kokkos::finalize();
    MPI_Finalize();
}
