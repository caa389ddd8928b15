// Package layering holds the shape of the house: which of our packages may import which, how the
// Kubernetes modules are pinned, and what a package and a source file must look like.
//
// The rules are pure functions over what `go list`, `go mod edit` and `git ls-files` print. Each is
// tested twice: on made-up trees that break it, so that it is seen to be able to fail, and on the
// real tree. Nothing here compiles or imports the packages that it looks at.
//
// It does not judge code inside a file; golangci-lint does (see .golangci.yml). Imports of _test.go
// files are free: a test may set its package beside any other.
//
// Who calls it: `make test`. Start reading at layers in imports.go, the table of the house.
package layering
