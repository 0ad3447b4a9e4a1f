! Particles in cells on a line of ranks: particles move to the ranks beside, whose fields meet at the rims. ill: the last but one has more.
program pic
#include "unseen.inc"
  double precision :: out(3000, 2), in(3000, 2), rim(500, 4), energy, all
  integer :: r(8), n, step, side, p, k
#include "begin.inc"
  do step = 1, 150
    call steps(3d6 * more())
    n = 0
    do side = 1, 2
      p = rank + 2 * side - 3
      if (p < 0 .or. p >= ranks) cycle
      k = 900 + 6 * mod(step * 37 + rank * 11, 60)
      call MPI_Irecv(in(1, side), 3000, MPI_DOUBLE_PRECISION, p, 1, MPI_COMM_WORLD, r(n + 1), e)
      call MPI_Isend(out(1, side), k, MPI_DOUBLE_PRECISION, p, 1, MPI_COMM_WORLD, r(n + 2), e)
      n = n + 2
    end do
    call MPI_Waitall(n, r, MPI_STATUSES_IGNORE, e)
    call steps(5d5 * more())
    n = 0
    do side = 1, 2
      p = rank + 2 * side - 3
      if (p < 0 .or. p >= ranks) cycle
      call MPI_Irecv(rim(1, side), 500, MPI_DOUBLE_PRECISION, p, 2, MPI_COMM_WORLD, r(n + 1), e)
      call MPI_Isend(rim(1, 2 + side), 500, MPI_DOUBLE_PRECISION, p, 2, MPI_COMM_WORLD, r(n + 2), e)
      n = n + 2
    end do
    call MPI_Waitall(n, r, MPI_STATUSES_IGNORE, e)
    call steps(1d6)
    if (mod(step, 10) == 0) call MPI_Allreduce(energy, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
  end do
  call MPI_Finalize(e)
contains
#include "steps.inc"
end program
