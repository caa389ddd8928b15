#!/usr/bin/env bash
# Regenerates everything that is generated from files in this tree:
#   api/**/*.proto              -> *.pb.go, *_grpc.pb.go   (buf and the local protoc plugins)
#   api/**/*_types.go and kin   -> zz_generated.deepcopy.go (controller-gen object)
#   the same types              -> manifests/base/crd/wastenot.dev_*.yaml (controller-gen crd), and the
#                                  chart's copy of them
#
# Usage: hack/update-codegen.sh
set -euo pipefail
cd "$(dirname "$0")/.."

tool() { go tool -modfile=go.tools.mod "$@"; }

# A file whose source is gone must not survive: generate from nothing.
find api -name '*.pb.go' -delete
find api -name 'zz_generated.*.go' -delete
rm -f manifests/base/crd/wastenot.dev_*.yaml

if find api -name '*.proto' | grep -q .; then
  tool buf generate
fi
if grep -rqs --include='*.go' -e '+kubebuilder:object' api; then
  tool controller-gen object paths=./api/...
fi
if grep -rqs --include='*.go' -e '+kubebuilder:object:root' api; then
  mkdir -p manifests/base/crd
  tool controller-gen crd paths=./api/... output:crd:artifacts:config=manifests/base/crd
  # The chart cannot read files outside of itself.
  rm -f manifests/chart/files/crd/*.yaml
  cp manifests/base/crd/*.yaml manifests/chart/files/crd/
fi
