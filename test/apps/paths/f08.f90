! The same through mpi_f08; see plain.c for what the lines "path:" mean.
!
!     path: main > paths@a > paths::work@b > MPI_Sendrecv x 7
!     path: main > paths@a > paths::work@c > MPI_Waitall x 7
!     path: main > paths@a > paths::work@d > MPI_Isend x 7
!     path: main > paths@a > paths::work@e > MPI_Irecv x 7
program paths
  use mpi_f08
  implicit none
  integer :: i
  call MPI_Init()
  do i = 1, 7
    call work() ! @a
  end do
  call MPI_Finalize()
contains
  subroutine work()
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status
    real(8) :: from(4), to(4)
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_SELF, rank)
    from = i
    call MPI_Sendrecv(from, 4, MPI_DOUBLE_PRECISION, 0, 1, to, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, status) ! @b
    call MPI_Isend(from, 4, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_SELF, requests(1)) ! @d
    call MPI_Irecv(to, 4, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_SELF, requests(2)) ! @e
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) ! @c
    if (to(1) /= from(1)) stop 1
  end subroutine
end program
