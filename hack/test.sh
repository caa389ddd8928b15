#!/usr/bin/env bash
# Runs the tests in groups, every group even after one has failed, and closes with a count of packages.
#
#   unit         our packages, with -race; the tests of commands without, for those link all of Kubernetes
#   integration  ./test/..., on a real control plane; -race would compile Kubernetes a second time
#                for processes that only drive ours
#
# Usage: hack/test.sh unit|integration|all [flags of go test]
set -uo pipefail
cd "$(dirname "$0")/.." || exit

group=${1:-all}
shift || true
flags=("$@")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0

# The race detector needs cgo; everything else shares its compiled packages with the binaries, which
# have none.
export CGO_ENABLED=0

run() {
  echo "+ go test $*"
  go test -p 2 "$@" ${flags[@]+"${flags[@]}"} 2>&1 | tee -a "$log" || status=1
}

unit() {
  local packages
  packages=$(go list ./...) || {
    status=1
    return
  }
  # The simulated nodes are concurrent too; the rest of test/ drives processes.
  # shellcheck disable=SC2046 # import paths have no spaces
  CGO_ENABLED=1 run -race -timeout 10m $(grep -vE '^wastenot\.dev/(cmd|test)(/|$)' <<<"$packages") ./test/controlplane/simnode
  if grep -qE '^wastenot\.dev/cmd/' <<<"$packages"; then
    run -timeout 10m ./cmd/...
  fi
}

# Their input is also the binaries that they start, which the test cache cannot see: -count=1.
integration() { run -tags integration -count=1 -timeout 20m ./test/...; }

case $group in
  unit) unit ;;
  integration) integration ;;
  all)
    unit
    integration
    ;;
  *)
    echo "usage: hack/test.sh unit|integration|all [flags of go test]" >&2
    exit 2
    ;;
esac

passed=$(grep -cE '^ok[[:space:]]' "$log")
failed=$(grep -cE '^FAIL[[:space:]]+[^[:space:]]' "$log")
if ((failed > 0)); then
  echo
  grep -E '^(--- FAIL|FAIL[[:space:]]+[^[:space:]])' "$log"
fi
echo "packages: $passed passed, $failed failed"
exit "$status"
