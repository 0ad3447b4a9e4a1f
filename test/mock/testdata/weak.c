/* Builds and runs without any MPI: mock.h is weak references only. */
#include "../include/mock.h"

int main(void)
{
    return mock_compute || mock_now || marple_clock_external;
}
