! A table that rank 0 makes alone in each step, while the others wait for it in a broadcast.
program table
  use mpi_f08
  implicit none
  integer, parameter :: n = 200000, steps = 30
  real(8) :: values(n), total
  integer :: rank, step

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  total = 0
  do step = 1, steps
     if (rank == 0) call make(values, step)
     call MPI_Bcast(values, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
     total = total + look_up(values)
  end do
  call MPI_Finalize()

contains

  subroutine make(values, step)
    real(8), intent(out) :: values(:)
    integer, intent(in) :: step
    integer :: i
    do i = 1, size(values)
       values(i) = exp(-sin(real(i, 8) / step)**2) + cos(real(i * step, 8))**2
    end do
  end subroutine

  real(8) function look_up(values)
    real(8), intent(in) :: values(:)
    look_up = sum(sqrt(values))
  end function

end program
