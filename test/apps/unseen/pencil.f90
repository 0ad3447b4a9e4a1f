! A transform in three dimensions of pencils: transposed along rows, then along columns of the grid of ranks. ill: the last but one
! computes for longer.
program pencil
#include "unseen.inc"
  double precision :: a(4096), b(4096)
  integer :: width, along, across, step
#include "begin.inc"
  width = 1
  do while (width * width < ranks .or. mod(ranks, width) /= 0)
    width = width + 1
  end do
  call MPI_Comm_split(MPI_COMM_WORLD, rank / width, rank, along, e)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, width), rank, across, e)
  do step = 1, 80
    call steps(2d6 * more())
    call MPI_Alltoall(a, 4096 / width, MPI_DOUBLE_PRECISION, b, 4096 / width, MPI_DOUBLE_PRECISION, along, e)
    call steps(2d6 * more())
    call MPI_Alltoall(b, 4096 * width / ranks, MPI_DOUBLE_PRECISION, a, 4096 * width / ranks, MPI_DOUBLE_PRECISION, across, e)
    call steps(2d6 * more())
  end do
  call MPI_Finalize(e)
contains
#include "steps.inc"
end program
