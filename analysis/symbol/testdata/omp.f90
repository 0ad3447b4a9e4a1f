! OpenMP in Fortran, where names have more on them.
module m
  use iso_c_binding
  implicit none
  interface
    subroutine probe_fortran(names, file, line0, line1) bind(C)
      import
      character(kind=c_char), intent(in) :: names(*), file(*)
      integer(c_int), intent(in) :: line0, line1
    end subroutine
  end interface
contains
  subroutine work(x)
    integer, intent(inout) :: x(:)
    !$omp parallel num_threads(2)
    !$omp master
    call probe_fortran("m::work@[omp@0] ", FILE, __LINE__, 0)
    !$omp end master
    x(1) = 1
    !$omp end parallel
  end subroutine
end module

subroutine ext(x)
  use m
  implicit none
  integer, intent(inout) :: x(10)
  !$omp parallel num_threads(2)
  !$omp master
  call probe_fortran("ext@[omp@0] ", FILE, __LINE__, 0)
  !$omp end master
  x(2) = 1
  !$omp end parallel
end subroutine

program p
  use m
  implicit none
  integer :: x(10)
  x = 0
  call work(x)
  call ext(x)
  print *, x
end program
