#!/bin/sh
# The demonstration: a small MPI program with a flaw, run under Marple on a real MPI if there is one, else on the
# bundled mock.
#
#     demo.sh BUILD-DIRECTORY
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")" && pwd)/apps/heat.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    cc=mpicc run=mpirun
else
    cc=$build/mock/bin/mpicc run=$build/mock/bin/mpirun
    echo "no MPI is installed here: using the bundled mock"
fi
cores=$(nproc)
ranks=$((cores < 2 ? 2 : cores > 4 ? 4 : cores))
"$cc" -O2 -g -w "$source" -o "$work/heat"
out=$PWD/marple-demo
rm -rf "$out"
echo "\$ $(basename "$run") -n $ranks marple exec ./heat --uneven"
"$run" -n "$ranks" "$build/marple" exec --out "$out" "$work/heat" --uneven
echo
echo "\$ marple callgraph --least 2 marple-demo"
"$build/marple" callgraph --least 2 "$out"
