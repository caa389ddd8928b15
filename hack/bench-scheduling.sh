#!/usr/bin/env bash
# Compares the throughput of our scheduler profile with that of the stock one, in upstream's
# scheduler_perf: runs of both alternate, the table has the medians of the pairs. Progress goes to
# standard error, the report to standard output. Everything listens on loopback only.
#
# Usage: hack/bench-scheduling.sh [--pairs N] [--workload REGEX] [--short] [--ours blind] [--out FILE]
#        hack/bench-scheduling.sh --help
#
#   --pairs N         pairs of runs of each workload (7)
#   --workload REGEX  such as gpu-1000/ or /none; a pair takes about a minute at 1,000 nodes
#   --short           one pair of few workloads at tiny sizes, less than two minutes once built: it
#                     shows that everything works, its figures say nothing
#   --ours blind      our profile without telemetry
#   --out FILE        the report also as a file
#
# The measurements of each run and the logs of those that fail stay in .bench/scheduling.
set -euo pipefail
cd "$(dirname "$0")/.."

built=.bench/scheduling/bin
mkdir -p "$built"
# As everything that links Kubernetes here, so that it shares the compiled packages.
export CGO_ENABLED=0

kubernetes=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${kubernetes#v1.}
component=k8s.io/component-base/version
ldflags="-X $component.gitVersion=$kubernetes -X $component.gitMajor=1 -X $component.gitMinor=${minor%%.*}"

echo "building; from empty caches this takes minutes" >&2
# etcd at the version that go.mod has, whatever is installed.
go build -o "$built/etcd" go.etcd.io/etcd/server/v3
go test -c -tags perf -ldflags "$ldflags" -o "$built/bench.test" ./test/perf/scheduling/bench
go build -o "$built/scheduling" ./test/perf/scheduling

exec "$built/scheduling" --binary "$built/bench.test" --dir test/perf/scheduling/bench --etcd "$built" \
  --kubernetes "$kubernetes" --revision "$(git describe --tags --always --dirty 2>/dev/null || echo unknown)" "$@"
