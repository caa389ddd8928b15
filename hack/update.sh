#!/usr/bin/env bash
# Brings everything that is derived up to date, in the order in which one feeds the next.
# hack/verify.sh runs the same steps in a copy of the tree, so what is added here is verified too.
#
# Usage: hack/update.sh           every step
#        hack/update.sh STEP ...  only these
#        hack/update.sh --list    the names of the steps, in order
set -euo pipefail
cd "$(dirname "$0")/.."

steps=(replace tidy tools codegen format)

tool() { go tool -modfile=go.tools.mod "$@"; }

replace() { hack/update-replace.sh; }
tidy() { go mod tidy; }
tools() { hack/update-tools.sh; }
codegen() { hack/update-codegen.sh; }
format() {
  tool buf format -w
  tool golangci-lint fmt
}

if [[ "${1:-}" == --list ]]; then
  printf '%s\n' "${steps[@]}"
  exit
fi
if [[ $# -gt 0 ]]; then
  for step in "$@"; do
    if [[ " ${steps[*]} " != *" $step "* ]]; then
      echo "no step '$step'; there are: ${steps[*]}" >&2
      exit 2
    fi
  done
  steps=("$@")
fi
for step in "${steps[@]}"; do
  echo "+ update $step"
  "$step"
done
