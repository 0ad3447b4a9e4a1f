#!/bin/sh
# mpif.h of mpi.h: mpif.sh < mpi.h. Constants have the same values, and what is an address in C is a common block. Lines
# are such that both forms of source may include them.
cat <<'END'
! Made of mpi.h by mpif.sh.
      integer MPI_STATUS_SIZE
      parameter (MPI_STATUS_SIZE=8)
      integer MPI_SOURCE, MPI_TAG, MPI_ERROR
      parameter (MPI_SOURCE=1, MPI_TAG=2, MPI_ERROR=3)
      integer MPI_ADDRESS_KIND, MPI_COUNT_KIND, MPI_OFFSET_KIND
      parameter (MPI_ADDRESS_KIND=8)
      parameter (MPI_COUNT_KIND=8, MPI_OFFSET_KIND=8)
      integer MPI_INTEGER_KIND
      parameter (MPI_INTEGER_KIND=4)
      integer MPI_BOTTOM, MPI_IN_PLACE
      integer MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
      integer MPI_STATUSES_IGNORE(MPI_STATUS_SIZE, 1)
      common /mpi_fortran_bottom/ MPI_BOTTOM
      common /mpi_fortran_in_place/ MPI_IN_PLACE
      common /mpi_fortran_status_ignore/ MPI_STATUS_IGNORE
      common /mpi_fortran_statuses_ignore/ MPI_STATUSES_IGNORE
      double precision, external :: MPI_WTIME, MPI_WTICK
END
sed -nE -e 's/^#define (MPI_[A-Z0-9_]+) \(\([A-Za-z_]+\)0x([0-9a-f]+)\)$/\1 int(Z"\2")/p' \
    -e 's/^ +(MPI_[A-Z0-9_]+) = 0x([0-9a-fA-F]+),?$/\1 int(Z"\2")/p' \
    -e 's/^ +(MPI_[A-Z0-9_]+) = (-?[0-9]+),?$/\1 \2/p' \
    -e 's/^#define (MPI_[A-Z0-9_]+) ([0-9]+)$/\1 \2/p' |
    while read -r name value; do
        printf '      integer %s\n      parameter (%s=%s)\n' "$name" "$name" "$value"
    done
