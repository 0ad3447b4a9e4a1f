! ScaLAPACK's nonsymmetric QR algorithm on an upper Hessenberg matrix: bulges are chased down the diagonal one behind
! the other, across blocks that all processes share.
!
!     pdlahqr [ORDER [BLOCK]]
!
! Rank 0 prints how far the sum of the eigenvalues is from the trace, which they leave as it was.
program main
  use mpi
  implicit none
  integer :: ierr, rank, ranks, rows, columns, context, row, column, order, block, local_rows, local_columns
  integer :: i, j, info, work_size, iwork(1), a_is(9), z_is(9)
  integer, external :: numroc
  double precision, allocatable :: a(:), z(:), work(:), wr(:), wi(:)
  double precision :: trace, value
  character(len=16) :: text

  order = 96
  block = 8
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) order
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, text)
    read (text, *) block
  end if
  call mpi_init(ierr)
  call blacs_pinfo(rank, ranks)
  rows = int(sqrt(dble(ranks)))
  do while (mod(ranks, rows) /= 0)
    rows = rows - 1
  end do
  columns = ranks / rows
  call blacs_get(-1, 0, context)
  call blacs_gridinit(context, 'Row', rows, columns)
  call blacs_gridinfo(context, rows, columns, row, column)
  local_rows = max(1, numroc(order, block, row, 0, rows))
  local_columns = max(1, numroc(order, block, column, 0, columns))
  allocate (a(local_rows*local_columns), z(local_rows*local_columns), wr(order), wi(order))
  call descinit(a_is, order, order, block, block, 0, 0, context, local_rows, info)
  call descinit(z_is, order, order, block, block, 0, 0, context, local_rows, info)

  trace = 0
  do j = 1, order
    do i = 1, order
      value = 0
      if (i <= j + 1) value = sin(dble(7*i + 3*j)) + merge(2d0, 0d0, i == j + 1)
      if (i == j) trace = trace + value
      call pdelset(a, i, j, a_is, value)
      call pdelset(z, i, j, z_is, merge(1d0, 0d0, i == j))
    end do
  end do

  work_size = 20*order + 200*block*block + 10*order*(order/block + 10)
  allocate (work(work_size))
  call pdlahqr(.true., .true., order, 1, order, a, a_is, wr, wi, 1, order, z, z_is, work, work_size, iwork, 0, info)
  if (rank == 0) print '(a, i0, a, es8.1)', 'info ', info, ' difference ', abs(sum(wr) - trace)
  call blacs_gridexit(context)
  call blacs_exit(1)
  call mpi_finalize(ierr)
  if (info /= 0) stop 1
end program
