#!/bin/sh
# What make lint asks of C, scripts and prose:
#
#     lint.sh "COMPILER FLAGS" C-FILE...
#
# What is not installed here is said and left out.
set -eu
cd "$(dirname "$0")/../.."
flags=$1
shift

has() {
    command -v "$1" >/dev/null || { echo "$2: $1 is not installed; left out"; false; }
}

tracked() { git ls-files -- "$@" 2>/dev/null || true; } # none in what make dist packs

if has gcc "C"; then
    echo "gcc -fanalyzer"
    for file; do
        # shellcheck disable=SC2086
        gcc $flags -Wall -Wextra -Werror -Wno-format-truncation -fanalyzer -c -o /dev/null "$file"
    done
fi
# What the compiler and its analyser do not look for. Left out is what is a matter of taste, and sizes of pointers, which are meant.
if has clang-tidy "C"; then
    echo "clang-tidy"
    checks='-*,bugprone-*,misc-redundant-expression,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier,-bugprone-macro-parentheses'
    checks="$checks,-bugprone-narrowing-conversions,-bugprone-assignment-in-if-condition,-bugprone-suspicious-string-compare"
    checks="$checks,-bugprone-implicit-widening-of-multiplication-result,-bugprone-sizeof-expression"
    # shellcheck disable=SC2086
    clang-tidy --quiet --checks="$checks" --warnings-as-errors='*' "$@" -- $flags 2>/dev/null
fi
if has shellcheck "scripts"; then
    echo "shellcheck"
    tracked | grep -v testdata | xargs -r grep -lE '^#!/bin/(ba)?sh' | xargs -r shellcheck -S warning
fi
if has codespell "spelling"; then
    echo "codespell"
    tracked '*.md' '*.yaml' | xargs -r codespell -L improbe
fi
