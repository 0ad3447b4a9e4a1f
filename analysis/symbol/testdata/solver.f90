! Fortran: a module, a contained procedure, an external one, a main program.
module solver
  use iso_c_binding
  implicit none
  interface
    subroutine probe_fortran(names, file, line0, line1) bind(C)
      import
      character(kind=c_char), intent(in) :: names(*), file(*)
      integer(c_int), intent(in) :: line0, line1
    end subroutine
  end interface
  integer, volatile :: one = 1
contains

  subroutine step(x)
    real(8), intent(inout) :: x(:)
    call probe_fortran("solver::step ", FILE, __LINE__, 0)
    call inner(x)
    call probe_fortran("solver::step ", FILE, __LINE__, 0)
    one = 1 ! so that the call is not the last thing, and becomes a jump
  contains
    subroutine inner(y)
      real(8), intent(inout) :: y(:)
      y = y * one
      call probe_fortran("solver::step::inner ", FILE, __LINE__, 0)
      y = y + one
    end subroutine
  end subroutine

  integer function Mixed_Case(n)
    integer, intent(in) :: n
    call probe_fortran("solver::mixed_case ", FILE, __LINE__, 0)
    Mixed_Case = n * one
  end function

end module

subroutine ext(a)
  use solver
  implicit none
  real(8), intent(inout) :: a
  call probe_fortran("ext ", FILE, __LINE__, 0)
  a = a + one
end subroutine

program driver
  use solver
  implicit none
  real(8) :: z(10)
  z = 1
  call step(z)
  call ext(z(1))
  call probe_fortran("driver ", FILE, __LINE__, 0)
  print *, z(1), Mixed_Case(3)
end program
