#!/usr/bin/env bash
# Tidies go.tools.mod and go.tools.sum. Plain "go mod tidy -modfile=go.tools.mod" would mix the
# imports of this module into them, so the tidying happens in an empty module beside it.
#
# Usage: hack/update-tools.sh                      tidy
#        hack/update-tools.sh PACKAGE@VERSION ...  add or move tools first
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp go.tools.mod "$work/go.mod"
if [[ -e go.tools.sum ]]; then
  cp go.tools.sum "$work/go.sum"
fi
(
  cd "$work"
  for tool in "$@"; do
    go get -tool "$tool"
  done
  go mod tidy
)
cp "$work/go.mod" go.tools.mod
cp "$work/go.sum" go.tools.sum
