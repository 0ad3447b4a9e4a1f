#!/bin/sh
# Installs through apt what the test suites need and this machine lacks, where that is possible; says what
# stays missing. With CI=1 something missing is an error.
set -u

packages="gcc g++ gfortran make openmpi-bin libopenmpi-dev mpich libmpich-dev scalapack-mpi-test libscalapack-openmpi-dev libscalapack-mpich-dev libmumps-dev musl-tools hpcc lammps lammps-examples
chromium pkg-config environment-modules lua5.3 mandoc zsh fish
clang binutils llvm libclang-rt-dev valgrind util-linux iproute2 python3-mpi4py mplrs tree-ppuzzle libpapi-dev castxml libleveldb-dev libxerces-c-dev
libopen-trace-format2-dev otf2-tools postgresql libxml2-dev libboost-dev libboost-context-dev libjemalloc2 libgoogle-perftools-dev python3-pandas
python3-sympy python3-tqdm python3-marshmallow python3-matplotlib python3-otf2 python3-pydot python3-multiprocess python3-dill
python3-seaborn python3-arpeggio python3-msgpack python3-packaging python3-more-itertools python3-plotly python3-yaml
shellcheck codespell clang-tidy likwid lua-filesystem lua-json lua-posix lua-term libomp-dev libpetsc-real-dev libtrilinos-kokkos-dev slurmctld slurmd slurm-client munge curl rpm"

# Readers of Parquet files and of profiles. Without a network that takes minutes of retries; and npm does not look at the system's
# certificates by itself.
certificates=/etc/ssl/certs/ca-certificates.crt
if command -v npm >/dev/null && ! [ -d build/node/node_modules/@duckdb/node-api ]; then
    [ -r "$certificates" ] && export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$certificates}"
    timeout 300 npm install --fetch-retries=0 --silent --no-audit --no-fund --prefix build/node @duckdb/node-api@1.5.6-r.1 speedscope@1.25.0 \
        >/dev/null 2>&1
fi

missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
done

if [ -n "$missing" ] && command -v apt-get >/dev/null; then
    as=
    [ "$(id -u)" = 0 ] || as="sudo -n"
    echo "installing:$missing"
    $as apt-get -qq update >/dev/null 2>&1
    # One that this release does not have must not keep the others away.
    # shellcheck disable=SC2086
    known=$(apt-cache show $missing 2>/dev/null | sed -n 's/^Package: //p' | sort -u)
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as apt-get -qq install -y --no-install-recommends $known >/dev/null 2>&1
fi

# Lmod excludes environment-modules as a package, and is tried beside it.
if ! [ -d build/lmod ] && command -v apt-get >/dev/null && mkdir -p build/lmod.deb; then
    (cd build/lmod.deb && apt-get -qq download lmod && dpkg -x lmod_*.deb ../lmod) >/dev/null 2>&1
    rm -rf build/lmod.deb
fi

still=
for p in $missing; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || still="$still $p"
done
for p in @duckdb/node-api speedscope; do
    [ -d "build/node/node_modules/$p" ] || still="$still $p"
done
[ -d build/lmod ] || still="$still lmod"
[ -n "$still" ] || exit 0
echo "missing, and not installable here:$still"
[ "${CI:-}" != 1 ] || exit 1
echo "suites that need them will be skipped, and say so"
