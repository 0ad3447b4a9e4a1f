#!/bin/sh
# What `make test` runs with larger numbers, property tests with more cases, and every fuzz target for a while: all of it,
# or the parts that are named.
#
#     long.sh [PART...]
#
#     programs     the tests of whole programs, larger and more often
#     packages     those of the packages
#     properties   property tests, CASES of them (preset: 2000)
#     fuzz         each fuzz target for FUZZTIME (preset: 60s)
#
# PACKAGES= names packages as go does, to run a part of some only.
set -eu
cd "$(dirname "$0")/.."

# suite is go test of some packages, judged as everywhere; they are PACKAGES, or what follows the flags.
suite() {
    flags=$1
    shift
    MARPLE_TEST_LONG=1 go run ./test/suite -- "-count 1 -timeout 6h -skip ^TestJudge ${PACKAGES:-$*} $flags"
}

programs() { suite "" ./test/...; }

packages() { suite "" ./analysis/... ./bridge/... ./cmd/...; }

properties() {
    # shellcheck disable=SC2046
    suite "-rapid.checks=${CASES:-2000}" $(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/pgregory.net\/rapid/ {print $1}')
}

fuzz() {
    for package in $(go list "${PACKAGES:-./...}"); do
        for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
            echo "$package $target"
            go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" -fuzzminimizetime 1s "$package"
        done
    done
}

[ $# -gt 0 ] || set -- programs packages properties fuzz
for part; do
    case $part in
    programs | packages | properties | fuzz) $part ;;
    *)
        echo "long.sh: $part: expected one of programs, packages, properties, fuzz" >&2
        exit 2
        ;;
    esac
done
