! What Fortran has in forms of its own: handles, indices from 1, ignored statuses, buffers in place, texts, functions.
program fortran
#ifdef MODULE
    use mpi
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer, parameter :: n = 8
    integer :: rank, ranks, right, left, i, which, count, ierr, got, length, value
    integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), indices(2)
    integer :: column, mine, op, grid, dims(2)
    integer(MPI_ADDRESS_KIND) :: bound
    logical :: flag, periods(2)
    double precision :: a(n), b(n), began
    complex(8) :: z(2)
    character(len=40) :: text
    external :: later

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)

    a = rank
    began = MPI_Wtime()
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 5, b, n, MPI_DOUBLE_PRECISION, left, MPI_ANY_TAG, &
        MPI_COMM_WORLD, status, ierr)
    call check(all(b == left) .and. status(MPI_SOURCE) == left .and. status(MPI_TAG) == 5, 'sendrecv')
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
    call check(count == n .and. MPI_Wtime() > began, 'count')

    call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(i, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(2, requests, which, MPI_STATUS_IGNORE, ierr)
    call check(which == 2 .and. i == left .and. requests(2) == MPI_REQUEST_NULL, 'waitany')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Send(a, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, ierr)
    call MPI_Waitsome(2, requests, count, indices, statuses, ierr)
    call check(count == 1 .and. indices(1) == 1 .and. statuses(MPI_SOURCE, 1) == left, 'waitsome')
    call MPI_Waitany(2, requests, which, status, ierr)
    call check(which == MPI_UNDEFINED, 'none left')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)

    call MPI_Type_vector(n / 2, 1, 2, MPI_DOUBLE_PRECISION, column, ierr)
    call MPI_Type_commit(column, ierr)
    a = [(10*rank + i, i=1, n)]
    b = -1
    call MPI_Sendrecv(a, 1, column, right, 3, b, n/2, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, ierr)
    call check(all(b(:n/2) == a(1::2) + 10*(left - rank)) .and. all(b(n/2 + 1:) == -1), 'vector')
    call MPI_Type_free(column, ierr)
    call check(column == MPI_DATATYPE_NULL, 'freed')

    a = 1
    call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all(a == ranks), 'in place')
    z = cmplx(0d0, rank, 8)
    call MPI_Bcast(z, 2, MPI_DOUBLE_COMPLEX, ranks - 1, MPI_COMM_WORLD, ierr)
    call check(all(aimag(z) == ranks - 1), 'complex')
    flag = rank == 0
    call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
    call check(flag, 'logical')
    call MPI_Op_create(later, .true., op, ierr)
    call MPI_Ireduce(rank, value, 1, MPI_INTEGER, op, 0, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call check(rank > 0 .or. value == ranks - 1, 'operation')
    call MPI_Op_free(op, ierr)

    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, mine, ierr)
    call MPI_Comm_size(mine, got, ierr)
    call check(got == (ranks + 1 - mod(rank, 2))/2, 'split')
    call MPI_Comm_free(mine, ierr)
    call check(mine == MPI_COMM_NULL, 'comm_free')
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, ierr)
    periods = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, ierr)
    call MPI_Cart_shift(grid, 0, 1, left, right, ierr)
    call MPI_Cart_rank(grid, [1, 0], got, ierr)
    call check(rank /= 0 .or. right == got, 'grid')

    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bound, flag, ierr)
    call check(flag .and. bound >= 32767, 'attribute')
    text = 'x'
    call MPI_Get_processor_name(text, length, ierr)
    call check(length > 0 .and. len_trim(text) == length, 'text')
    call MPI_Finalize(ierr)

contains
    subroutine check(ok, what)
        logical, intent(in) :: ok
        character(len=*), intent(in) :: what
        if (ok) return
        print '(a, i0, 2a)', 'rank ', rank, ': ', what
        call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    end subroutine
end program

subroutine later(in, inout, n, type)
    integer :: n, type, in(n), inout(n)
    if (type /= type) return
    inout = max(in, inout)
end subroutine
