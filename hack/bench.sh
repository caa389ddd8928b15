#!/usr/bin/env bash
# Runs the benchmarks into .bench/new.txt and compares them with .bench/old.txt where that exists.
#
# Usage: hack/bench.sh            run and compare
#        hack/bench.sh --save     make the last run the one to compare with
# Environment: BENCH (which, a regular expression), COUNT (runs of each), PACKAGES
set -euo pipefail
cd "$(dirname "$0")/.."

old=.bench/old.txt new=.bench/new.txt
mkdir -p .bench

if [[ "${1:-}" == --save ]]; then
  cp "$new" "$old"
  echo "later runs are compared with this one: $old"
  exit
fi

packages=${PACKAGES:-}
if [[ -z "$packages" ]]; then
  # Compile only what has benchmarks; importing Kubernetes for none would take minutes.
  packages=$(git ls-files -co --exclude-standard -- '*_test.go' | xargs -r grep -lE '^func Benchmark' /dev/null |
    sed 's|^|./|; s|/[^/]*$||' | sort -u || true)
fi
if [[ -z "$packages" ]]; then
  echo "no benchmarks"
  exit
fi
# shellcheck disable=SC2086 # a list
go test -run '^$' -bench "${BENCH:-.}" -benchmem -count "${COUNT:-6}" -p 1 -timeout 60m $packages | tee "$new"

echo
if [[ -e "$old" ]]; then
  go tool -modfile=go.tools.mod benchstat "$old" "$new"
else
  go tool -modfile=go.tools.mod benchstat "$new"
  echo "to compare later runs with this one: hack/bench.sh --save"
fi
