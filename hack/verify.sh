#!/usr/bin/env bash
# The read-only mirror of hack/update.sh, and the static checks: runs each update step in a copy of
# the tree and shows what it would change, with the command that makes the change. Goes through all
# checks before it fails.
#
# Usage: hack/verify.sh
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export CGO_ENABLED=0 # as the binaries are built, so that their compiled packages serve

tool() { go tool -modfile=go.tools.mod "$@"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=()

# fail WHAT FIX
fail() {
  failures+=("$1: $2")
  echo "FAIL  $1; to fix it: $2"
}

# check WHAT FIX COMMAND...: silent unless the command fails.
check() {
  local what=$1 fix=$2
  shift 2
  if "$@" >"$work/out" 2>&1; then
    echo "ok    $what"
  else
    grep -v '^go: downloading ' "$work/out" | head -n 200
    fail "$what" "$fix"
  fi
}

# The copy is what a commit of everything here would hold, as a repository of its own, so that a
# step's changes are a diff.
copy=$work/copy
repo() { git -C "$copy" -c user.name=verify -c user.email=verify@localhost -c core.hooksPath=/dev/null "$@"; }
mkdir "$copy"
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do
    if [[ -e "$file" || -L "$file" ]]; then
      printf '%s\0' "$file"
    fi
  done | tar -cf - --null --no-recursion -T - | tar -xf - -C "$copy"
repo init -q && repo add -A && repo commit -qm 'before' || exit 1

for step in $("$copy/hack/update.sh" --list); do
  if ! "$copy/hack/update.sh" "$step" >"$work/out" 2>&1; then
    grep -v '^go: downloading ' "$work/out" | tail -n 50
    fail "update step $step does not run" "hack/update.sh $step, and read its errors"
    repo reset -q --hard && repo clean -qfd
    continue
  fi
  repo add -A
  if repo diff --cached --quiet; then
    echo "ok    $step is up to date"
    continue
  fi
  repo diff --cached --stat
  repo diff --cached | head -n 200
  fail "$step is not up to date" "hack/update.sh $step (or make update)"
  repo commit -qm "$step"
done

untracked_generated() {
  local files
  files=$(git ls-files --others --exclude-standard -- '*.pb.go' '*zz_generated*' 'manifests/base/crd/*.yaml' 'manifests/chart/files/crd/*.yaml')
  if [[ -n "$files" ]]; then
    sed "s/^/generated but not under version control: /" <<<"$files"
    return 1
  fi
}
check "generated files are tracked" \
  "git add \$(git ls-files --others --exclude-standard -- '*.pb.go' '*zz_generated*' manifests/base/crd)" \
  untracked_generated

shell_syntax() {
  local script status=0
  for script in hack/*.sh .ci/run; do
    bash -n "$script" || status=1
  done
  return "$status"
}
check "shell scripts parse" "mend the script" shell_syntax
check "buf lint" "mend the .proto files (go tool -modfile=go.tools.mod buf lint)" tool buf lint
check "go vet" "mend the code (go vet -tags integration,e2e ./...)" go vet -tags integration,e2e ./...
check "golangci-lint" "mend the code (make lint)" tool golangci-lint run --allow-parallel-runners ./...

if ((${#failures[@]} > 0)); then
  echo
  echo "${#failures[@]} checks failed:"
  printf '  %s\n' "${failures[@]}"
  exit 1
fi
echo "all checks passed"
