// Package manifests holds the tests of what is installed: every file under manifests/
// decodes strictly, kustomization lists name every file, and the scheduler's two
// configurations fit the plugin and the Deployment that mounts what they name. It has
// no code of its own.
//
// The chart is rendered by the Helm that go.helm.mod pins and compared, object by
// object, with what kustomize makes: see TestChartIsTheKustomization. Its values are
// held to what the programs read.
package manifests
