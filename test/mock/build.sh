#!/bin/sh
# Builds the mock MPI: build.sh OUTDIR
#
# MOCK_CFLAGS adds to the compiler's flags, for sanitizers; with MOCK_FOREIGN=no
# the library under a foreign name is left out. Every file is made
# aside and renamed into place, so builds into one OUTDIR may overlap.
set -eu

mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
new=$(mktemp -d "$out/.build.XXXXXX")
trap 'rm -rf "$new"' EXIT

library() { # file, soname, more flags
    file=$1 soname=$2
    shift 2
    gcc -std=c11 -O1 -g -Wall -Wextra -Werror -fPIC -pthread -Iinclude "$@" ${MOCK_CFLAGS-} \
        -shared -Wl,-soname,"$soname" -Wl,--version-script,lib/exports.map \
        lib/*.c -o "$new/$file" -ldl
}

wrapper() { # name, compiler and its flags, directory and name of the library
    cat >"$new/$1" <<END
#!/bin/sh
# Compiles and links for the mock MPI, wherever its directory has moved to.
top=\$(cd "\$(dirname "\$0")/.." && pwd)
exec $2 -I"\$top/include" "\$@" -L"\$top/$3" -Wl,-rpath,"\$top/$3" -l$4
END
    chmod +x "$new/$1"
}

library libmpi_abi.so libmpi_abi.so.1 &
abi=$!
foreign=
if [ "${MOCK_FOREIGN-}" != no ]; then
    library libforeignmpi.so libforeignmpi.so -DMOCK_FOREIGN \
        '-DMOCK_LIBRARY_VERSION="Foreign MPI 1.0"' &
    foreign=$!
fi
go build -o "$new/mpirun" ./mockrun
wait $abi
[ -z "$foreign" ] || wait "$foreign"
ln -s libmpi_abi.so "$new/libmpi_abi.so.1"
wrapper mpicc gcc lib mpi_abi
wrapper mpicxx g++ lib mpi_abi
wrapper mpicc-foreign gcc lib-foreign foreignmpi
cp include/*.h "$new"
fortran/mpif.sh <include/mpi.h >"$new/mpif.h"
if command -v gfortran >/dev/null; then
    # One routine sends data of all types.
    wrapper mpifort 'gfortran -fallow-argument-mismatch' lib mpi_abi
    gfortran -I"$new" -J"$new" -fsyntax-only fortran/mpi.f90
    mkdir -p "$out/include"
    mv -f "$new/mpi.mod" "$out/include"
fi

mkdir -p "$out/include" "$out/lib" "$out/lib-foreign" "$out/bin"
mv -f "$new"/*.h "$out/include"
mv -f "$new"/libmpi_abi.* "$out/lib"
[ -z "$foreign" ] || mv -f "$new"/libforeignmpi.* "$out/lib-foreign"
mv -f "$new"/mpi* "$out/bin"
