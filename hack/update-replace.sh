#!/usr/bin/env bash
# Writes the replace block of go.mod. k8s.io/kubernetes names its staging modules by relative path,
# so a module that requires it must pin each of them itself, all at the version of their release.
#
# Usage: hack/update-replace.sh          pin to the k8s.io/kubernetes that go.mod requires
#        hack/update-replace.sh v1.37.2  move to another version first
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -gt 0 ]]; then
  go mod edit -require="k8s.io/kubernetes@$1"
fi
version=$(awk '$1 == "k8s.io/kubernetes" || ($1 == "require" && $2 == "k8s.io/kubernetes") {
  print ($1 == "require") ? $3 : $2; exit }' go.mod)
if [[ ! "$version" =~ ^v1\.[0-9]+\.[0-9]+$ ]]; then
  echo "go.mod requires no released k8s.io/kubernetes (found '$version'); pass a version such as v1.37.2" >&2
  exit 1
fi
staging=v0.${version#v1.}

upstream=$(go mod download -json "k8s.io/kubernetes@$version" | awk -F'"' '$2 == "GoMod" {print $4}')
modules=$(awk '/=> \.\/staging\// {print $1}' "$upstream" | sort -u)
if [[ -z "$modules" ]]; then
  echo "the go.mod of k8s.io/kubernetes $version lists no staging modules" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Requirements on staging modules move along; every k8s.io replacement goes, every other one stays.
awk -v staging="$staging" -v list="$modules" '
  BEGIN { n = split(list, names, "\n"); for (i = 1; i <= n; i++) pinned[names[i]] = 1 }
  /^replace[ \t]*\(/      { block = 1; held = ""; next }
  block && /^\)/          { if (held != "") print "replace (\n" held ")"; block = 0; next }
  block                   { if ($1 !~ /^k8s\.io\//) held = held $0 "\n"; next }
  /^replace[ \t]+k8s\.io/ { next }
  $1 in pinned && $2 ~ /^v/ && $2 != staging                     { sub(/ v[^ \t]+/, " " staging, $0) }
  $1 == "require" && ($2 in pinned) && $3 ~ /^v/ && $3 != staging { sub(/ v[^ \t]+/, " " staging, $0) }
  { print }
' go.mod >"$work/go.mod"
{
  printf '\nreplace (\n'
  for module in $modules; do
    printf '\t%s => %s %s\n' "$module" "$module" "$staging"
  done
  printf ')\n'
} >>"$work/go.mod"
go mod edit -fmt "$work/go.mod"
cat -s "$work/go.mod" >"$work/tidy"

if cmp -s "$work/tidy" go.mod; then
  echo "go.mod already pins $(wc -w <<<"$modules") staging modules at $staging"
else
  cat "$work/tidy" >go.mod
  echo "go.mod now pins $(wc -w <<<"$modules") staging modules at $staging"
fi
