! What `use mpi` brings: mpif.h, as a module.
module mpi
    implicit none
    include 'mpif.h'
end module mpi
