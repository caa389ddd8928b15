#!/usr/bin/env bash
# Runs every fuzz target for a while, one after the other. What one finds lands in testdata/fuzz of
# its package: commit it, it is a unit test from then on.
#
# Usage: hack/fuzz.sh [TIME]      TIME for each target, as in 30s
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-30s}
found=0
while IFS=: read -r file _ line; do
  target=${line#func }
  target=${target%%(*}
  found=$((found + 1))
  echo "+ $target in ${file%/*} for $time"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./${file%/*}"
done < <(git ls-files -co --exclude-standard -- '*_test.go' | xargs -r grep -nE '^func Fuzz[A-Z_]' /dev/null)
echo "$found fuzz targets ran $time each"
