! Fortran: module procedures, a contained one, automatic arrays, recursion, and functions;
! see plain.c for what the lines "path:" mean.
!
!     path: main > paths@a > grid::exchange@b > MPI_Barrier x 5
!     path: main > paths@c > grid::automatic@d > grid::exchange@b > MPI_Barrier x 5
!     path: main > paths@e > paths::inner@f > grid::exchange@b > MPI_Barrier x 5
!     path: main > paths@g > grid::again@h > grid::again@h > grid::again@i > grid::exchange@b > MPI_Barrier x 5
!     path: main > paths@j > grid::total@k > MPI_Allreduce x 5
!     path: main > paths@l > external@m > MPI_Barrier x 5
module grid
  use mpi
  implicit none
contains
  subroutine exchange()
    integer :: ierr
    call MPI_Barrier(MPI_COMM_WORLD, ierr) ! @b
    if (ierr /= 0) stop 1
  end subroutine

  subroutine automatic(n)
    integer, intent(in) :: n
    real(8) :: work(n, n)
    work = n
    call exchange() ! @d
    if (work(1, n) < 0) stop 2
  end subroutine

  recursive subroutine again(n)
    integer, intent(in) :: n
    if (n > 0) then
      call again(n - 1) ! @h
    else
      call exchange() ! @i
    end if
    if (n > 100) stop 3
  end subroutine

  function total(x) result(sum)
    real(8), intent(in) :: x
    real(8) :: sum
    integer :: ierr
    call MPI_Allreduce(x, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr) ! @k
    if (ierr /= 0) stop 4
  end function
end module

subroutine external()
  use mpi
  implicit none
  integer :: ierr
  call MPI_Barrier(MPI_COMM_WORLD, ierr) ! @m
  if (ierr /= 0) stop 5
end subroutine

program paths
  use mpi
  use grid
  implicit none
  integer :: i, ierr
  external :: external
  call MPI_Init(ierr)
  do i = 1, 5
    call exchange() ! @a
    call automatic(20 * i) ! @c
    call inner() ! @e
    call again(2) ! @g
    if (total(1d0) < 1) stop 6 ! @j
    call external() ! @l
  end do
  call MPI_Finalize(ierr)
contains
  subroutine inner()
    call exchange() ! @f
    if (i < 0) stop 7
  end subroutine
end program
