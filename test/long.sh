#!/bin/sh
# The tests of `make test` with larger numbers, property tests with more cases, and every fuzz target for a while.
set -eu
cd "$(dirname "$0")/.."
cases=${CASES:-2000} while=${FUZZTIME:-60s}

MARPLE_LONG=1 go test -p 1 -count=1 -timeout 3h ./...

for package in $(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/pgregory.net\/rapid/ {print $1}'); do
    go test -count=1 -timeout 1h "$package" -rapid.checks="$cases"
done

for package in $(go list ./...); do
    for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
        echo "$package $target"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$while" -fuzzminimizetime 1s "$package"
    done
done
