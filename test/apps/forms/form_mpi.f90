! The program of form.c, bound to MPI another way; the calls stand in body.inc.
program form
    use mpi
    implicit none
    integer, parameter :: N = 100
    integer :: rank, ranks, right, left, i, index, value, ierr, counts(64), displacements(64)
    double precision :: a(N), b(N), all(64 * N), all2(64 * N)
    integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4), r(4), p(2), half, copy, column

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    include 'body.inc'
end program
