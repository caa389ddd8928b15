#!/usr/bin/env bash
# Builds one command to bin/NAME with its versions linked in, and says how far it is while the
# caches are cold. A warm build says nothing.
#
# Usage: hack/build.sh NAME PACKAGE [MODFILE]
#   hack/build.sh wastenot-scheduler ./cmd/scheduler
#   hack/build.sh helm helm.sh/helm/v4/cmd/helm go.helm.mod     a tool that MODFILE pins
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -lt 2 || $# -gt 3 ]]; then
  echo "usage: hack/build.sh NAME PACKAGE [MODFILE]" >&2
  exit 2
fi
name=$1 package=$2
modfile=(${3:+"-modfile=$3"})
# Static, so that the binaries run in an image that holds nothing else.
export CGO_ENABLED=0
every=${PROGRESS_SECONDS:-10}

work=$(mktemp -d)
pid=
# A build that is interrupted takes its compiler along.
trap '[[ -z "$pid" ]] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

elapsed() {
  if ((SECONDS < 60)); then
    printf '%ds' "$SECONDS"
  else
    printf '%dm%02ds' $((SECONDS / 60)) $((SECONDS % 60))
  fi
}

# lines FILE PATTERN: how many lines match; 0 is no error.
lines() { grep -cE "$2" "$1" || true; }

# await PATTERN WORDS: waits for $pid and prints "NAME: N WORDS, ELAPSED" every now and then, where N
# counts the lines of its log that match.
spoke=
await() {
  local ticks=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    ticks=$((ticks + 1))
    if ((ticks % (every * 5) == 0)); then
      echo "$name: $(lines "$work/log" "$1") $2, $(elapsed)"
      spoke=yes
    fi
  done
  local status=0
  wait "$pid" || status=$?
  pid=
  return "$status"
}

# What go says besides progress: its errors.
complain() { grep -vE '^(go: downloading .*|[a-z0-9][^ :]*)$' "$work/log" >&2 || true; }

: >"$work/log"
go list ${modfile[@]+"${modfile[@]}"} -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "$package" >"$work/stale" 2>"$work/log" &
pid=$!
await '^go: downloading ' 'modules fetched' || {
  complain
  exit 1
}
total=$(lines "$work/stale" .)

kubernetes=$(awk '$1 == "k8s.io/kubernetes" {print $2; exit}' go.mod)
minor=${kubernetes#v1.}
minor=${minor%%.*}
version=$(git describe --tags --always --dirty 2>/dev/null || echo dev)
component=k8s.io/component-base/version
ldflags="-X wastenot.dev/internal/version.version=$version"
ldflags+=" -X $component.gitVersion=$kubernetes -X $component.gitMajor=1 -X $component.gitMinor=$minor"
ldflags+=" -X $component.gitTreeState=clean"

mkdir -p bin
: >"$work/log"
# The version is linked in above, so go need not ask git, which refuses a tree of another owner.
go build ${modfile[@]+"${modfile[@]}"} -v -buildvcs=false -ldflags "$ldflags" -o "bin/$name" "$package" 2>"$work/log" &
pid=$!
await '^[a-z0-9][^ :]*$' "of $total packages" || {
  complain
  echo "$name: build of $package ended with an error after $(elapsed)" >&2
  exit 1
}
if [[ -n "$spoke" ]]; then
  echo "$name: built in $(elapsed)"
fi
