// Package manifests holds the tests of what is installed: every file under manifests/
// decodes strictly, kustomization lists name every file, and the scheduler's two
// configurations fit the plugin and the Deployment that mounts what they name. It has
// no code of its own.
package manifests
