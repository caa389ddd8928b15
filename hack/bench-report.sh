#!/usr/bin/env bash
# Runs a benchmark and writes what it prints, with the conditions under which it ran, to
# docs/benchmarks/NAME.md. What fails leaves the former file as it was.
#
# Usage: hack/bench-report.sh NAME TITLE COMMAND [ARGUMENT ...]
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# < 3)); then
  echo "usage: hack/bench-report.sh NAME TITLE COMMAND [ARGUMENT ...]" >&2
  exit 2
fi
name=$1 title=$2
shift 2
out=$(mktemp)
trap 'rm -f "$out"' EXIT

began=$(date -u '+%F %H:%M')
"$@" | tee "$out"
mkdir -p docs/benchmarks
{
  printf '# %s\n\n' "$title"
  printf '* `%s`\n' "$*"
  printf '* %s to %s UTC, %s\n' "$began" "$(date -u +%H:%M)" "$(git describe --tags --always --dirty)"
  printf '* %s cores, %s GiB memory, %s\n\n' "$(nproc)" "$(awk '/^MemTotal/ {printf "%.0f", $2 / 1048576}' /proc/meminfo)" "$(go env GOVERSION)"
  printf '```text\n'
  cat "$out"
  printf '```\n'
} >"docs/benchmarks/$name.md"
