// Package version tells which build this is. hack/build.sh links the version in; a
// build by other means is "unknown".
package version
