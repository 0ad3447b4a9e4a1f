/* EP, embarrassingly parallel: pairs of normal deviates are counted (NAS, class S). Ranks meet at the end only. */
#include "kernel.h"

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", NULL};
    begin(argc, argv, known);
    enum { PAIRS = 1 << 24, BATCH = 1 << 14 };
    double sum[2] = {0}, count[10] = {0}, all[2], counted[10];
    for (int b = rank; b < PAIRS / BATCH; b += ranks) {
        uint64_t x = skip(271828183, 2ull * (uint64_t)b * BATCH);
        for (int i = 0; i < BATCH; i++) {
            double u = 2 * next_random(&x) - 1, v = 2 * next_random(&x) - 1, t = u * u + v * v;
            if (t > 1)
                continue;
            t = sqrt(-2 * log(t) / t);
            count[(int)fmax(fabs(u * t), fabs(v * t))]++;
            sum[0] += u * t;
            sum[1] += v * t;
        }
        compute(50 * US);
    }
    MPI_Allreduce(&sum[0], &all[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&sum[1], &all[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(count, counted, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return verified(near(all[0], -3.247834652034740e3, 1e-8) && near(all[1], -6.958407078382297e3, 1e-8), all[0]);
}
