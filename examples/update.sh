#!/bin/sh
# Builds and measures the examples, and puts what they print into their README files anew, between ```text and ```.
#
#     examples/update.sh [EXAMPLE...]
#     examples/update.sh page            the picture in README.md (needs chromium)
#
# halo, farm and wavefront run on the bundled mock MPI's virtual clock, so that their reports are the same everywhere;
# the others on the MPI that is installed. Times of the latter are those of the machine.
set -eu
cd "$(dirname "$0")"
top=$(cd .. && pwd)
build=$top/build
marple=$build/marple
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MARPLE_REPORT=stdout
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# put EXAMPLE: standard input becomes the example's output, with the directory shortened.
put() {
    sed "s#$work/*##g; s#[[:space:]]*\$##" > "$work/report"
    awk -v report="$work/report" '
        /^```text$/ { print; while ((getline line < report) > 0) print line; inside = 1; next }
        /^```$/ { inside = 0 }
        !inside { print }' "$1/README.md" > "$work/readme"
    cat "$work/readme" > "$1/README.md"
    echo "$1: $(wc -l < "$work/report") lines"
}

mock() { # EXAMPLE RANKS
    "$build/mock/bin/mpicc" -g -O2 "$1/$1.c" -o "$work/$1"
    (cd "$work" && "$build/mock/bin/mpirun" -n "$2" --virtual "$marple" exec --out "$1.run" "./$1") | put "$1"
}

[ $# -gt 0 ] || set -- halo farm wavefront fortran mpi4py
for example; do
    case $example in
    halo) mock halo 4 ;;
    farm) mock farm 8 ;;
    wavefront) mock wavefront 16 ;;
    fortran)
        ${MPIFORT:-mpifort} -g -O2 fortran/table.f90 -o "$work/table"
        (cd "$work" && ${MPIRUN:-mpirun} -n 2 --oversubscribe "$marple" exec --out table.run ./table) | put fortran ;;
    mpi4py)
        cp mpi4py/search.py "$work"
        (cd "$work" && ${MPIRUN:-mpirun} -n 2 --oversubscribe "$marple" exec --out search.run ${PYTHON:-python3} search.py) | put mpi4py ;;
    page)
        "$build/mock/bin/mpicc" -g -O2 halo/halo.c -o "$work/halo"
        (cd "$work" && "$build/mock/bin/mpirun" -n 4 --virtual "$marple" exec --trace 64 --out halo.run ./halo) > /dev/null
        "$marple" page "$work/halo.run" > /dev/null
        chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,900 \
            --screenshot="$top/docs/page.png" "file://$work/halo.run/report.html" ;;
    *) echo "update.sh: no such example: $example" >&2; exit 2 ;;
    esac
done
