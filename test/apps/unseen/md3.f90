! Molecular dynamics on a grid of boxes: ghosts go along one axis after the other, atoms change their rank at times. ill: ghosts are sent ten
! at a time.
program md3
#include "unseen.inc"
  double precision :: ghosts(3, 400), theirs(3, 400), x, s
  integer :: dims(3), cart, lower(3), upper(3), step, axis, i, each
  logical :: periods(3)
#include "begin.inc"
  dims = 0
  periods = .true.
  call MPI_Dims_create(ranks, 3, dims, e)
  call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, .false., cart, e)
  do axis = 1, 3
    call MPI_Cart_shift(cart, axis - 1, 1, lower(axis), upper(axis), e)
  end do
  each = merge(10, 400, ill)
  do step = 1, 60
    do axis = 1, 3
      if (dims(axis) == 1) cycle
      if (mod(step, 10) == 0) then
        call steps(1d5)
        call shift(3 * (20 + mod(rank, 5)), upper(axis), lower(axis), ghosts, 7)
        call shift(3 * (20 + mod(rank, 7)), lower(axis), upper(axis), ghosts, 8)
      end if
      call steps(2d4)
      do i = 1, 400, each
        call shift(3 * each, upper(axis), lower(axis), ghosts(1, i), 1)
        call shift(3 * each, lower(axis), upper(axis), ghosts(1, i), 2)
      end do
    end do
    call steps(4d6)
    if (mod(step, 10) == 0) call MPI_Allreduce(x, s, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
  end do
  call MPI_Finalize(e)
contains
  subroutine shift(n, to, from, what, tag)
    integer, intent(in) :: n, to, from, tag
    double precision, intent(in) :: what(*)
    call MPI_Sendrecv(what, n, MPI_DOUBLE_PRECISION, to, tag, theirs, 1200, MPI_DOUBLE_PRECISION, from, tag, cart, &
      MPI_STATUS_IGNORE, e)
  end subroutine
#include "steps.inc"
end program
