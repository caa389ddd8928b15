package layering

import (
	"fmt"
	"slices"
	"strings"
)

// kubernetes is the module whose release decides the version of every staging module.
const kubernetes = "k8s.io/kubernetes"

// Version is a module at a version, as `go mod edit -json` prints it.
type Version struct {
	// Path is a module path, or a folder where a replacement is local.
	Path string
	// Version is a semantic version with its v; empty for a folder or for every version.
	Version string
}

// Modules is what the rules need of a go.mod; the field names are those of `go mod edit -json`.
type Modules struct {
	// Require lists direct and indirect requirements.
	Require []Version
	// Replace lists replacements of one module by another.
	Replace []struct{ Old, New Version }
}

// StagingFaults returns where our go.mod departs from the rule that each staging module of Kubernetes
// is required and replaced at the release of k8s.io/kubernetes that we require, no more and no fewer
// than upstream, its go.mod at that release, lists.
func StagingFaults(ours, upstream Modules) []string {
	release := required(ours, kubernetes)
	minorAndPatch, ok := strings.CutPrefix(release, "v1.")
	if !ok {
		return []string{fmt.Sprintf("go.mod requires no %s v1 (found %q)", kubernetes, release)}
	}
	want := "v0." + minorAndPatch
	staging := staged(upstream)

	var found []string
	for _, path := range staging {
		found = append(found, pinFaults(ours, path, want)...)
	}
	for _, r := range ours.Replace {
		if strings.HasPrefix(r.Old.Path, "k8s.io/") && !slices.Contains(staging, r.Old.Path) {
			found = append(found, fmt.Sprintf("%s is replaced but is no staging module of %s %s", r.Old.Path, kubernetes, release))
		}
	}
	return found
}

// pinFaults returns where a staging module is not replaced and required at the wanted version.
func pinFaults(ours Modules, path, want string) []string {
	var found []string
	switch got := replacement(ours, path); {
	case got == Version{}:
		found = append(found, fmt.Sprintf("%s is not replaced; want %s", path, want))
	case got.Path != path || got.Version != want:
		found = append(found, fmt.Sprintf("%s is replaced by %s %s; want %s", path, got.Path, got.Version, want))
	}
	// v0.0.0 is how kubernetes itself requires them; the replacement decides.
	if got := required(ours, path); got != "" && got != "v0.0.0" && got != want {
		found = append(found, fmt.Sprintf("%s is required at %s; want %s", path, got, want))
	}
	return found
}

// staged returns the modules that upstream replaces by a folder in its own tree.
func staged(upstream Modules) []string {
	var paths []string
	for _, r := range upstream.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			paths = append(paths, r.Old.Path)
		}
	}
	return paths
}

func required(m Modules, path string) string {
	for _, r := range m.Require {
		if r.Path == path {
			return r.Version
		}
	}
	return ""
}

func replacement(m Modules, path string) Version {
	for _, r := range m.Replace {
		if r.Old.Path == path {
			return r.New
		}
	}
	return Version{}
}
