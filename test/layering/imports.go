package layering

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path of this module; every package of ours is below it.
const module = "wastenot.dev"

// Package is what the rules need to know of a package; the field names are those of `go list -json`.
type Package struct {
	// ImportPath is the full path, as in "wastenot.dev/telemetry/store".
	ImportPath string
	// Name is the name of the package clause; empty where go list could not read it.
	Name string
	// Doc is the first sentence of the package comment, from files without build constraints that fail.
	Doc string
	// Imports are those of the files that are not tests.
	Imports []string
	// GoFiles are the names of the files that are built, tests left out.
	GoFiles []string
}

// Violation is one import that a rule forbids.
type Violation struct {
	// Package and Import are full import paths: the importer and what it imports. Import is empty where
	// the place of the package itself is at fault.
	Package, Import string
	// Rule says in words what is allowed.
	Rule string
}

func (v Violation) String() string {
	if v.Import == "" {
		return v.Package + ": " + v.Rule
	}
	return fmt.Sprintf("%s imports %s: %s", v.Package, v.Import, v.Rule)
}

// layer is a floor of the house. A package sees the layers listed for its own and the other
// packages of its own part, where a part is a top folder or, in internal, the folder below it.
type layer struct {
	name  string
	parts []string // top folders
	sees  []string // names of layers
	rule  string
}

// layers is the house, from the ground up; design notes call them leaves, cores, rim and wiring.
var layers = []layer{
	{
		name: "api", parts: []string{"api"},
		rule: "api is a leaf and imports nothing of ours outside api",
	},
	{
		name: "internal", parts: []string{"internal"}, sees: []string{"api"},
		rule: "internal packages are leaves: of ours they may import api only, not each other",
	},
	{
		name: "core", parts: []string{"placement", "pricing", "quota"}, sees: []string{"api", "internal"},
		rule: "placement, pricing and quota are cores: of ours they may import api and internal only",
	},
	{
		name: "rim", parts: []string{"telemetry", "scheduler", "webhook", "deviceplugin"},
		sees: []string{"api", "internal", "core"},
		rule: "telemetry, scheduler, webhook and deviceplugin are the rim: of ours they may import " +
			"api, internal and the cores, never each other, cmd or test",
	},
	{
		name: "cmd", parts: []string{"cmd"}, sees: []string{"api", "internal", "core", "rim", "test"},
	},
	{
		name: "test", parts: []string{"test"}, sees: []string{"api", "internal", "core", "rim", "cmd"},
	},
}

// reserved are trees of others that only some of our layers or parts may import.
var reserved = []struct {
	tree string
	only []string
	rule string
}{
	{
		tree: "k8s.io/kubernetes", only: []string{"cmd", "test"},
		rule: "only cmd, test and _test.go files may import k8s.io/kubernetes",
	},
	{
		tree: "k8s.io/kube-scheduler/framework", only: []string{"scheduler", "cmd", "test"},
		rule: "the scheduling framework is for scheduler, cmd and test",
	},
}

// Violations returns every import that breaks a rule, in the order of the packages and their imports.
// A package of ours that lies in no layer is a violation too, with an empty Import.
func Violations(packages []Package) []Violation {
	var found []Violation
	for _, p := range packages {
		from, ok := layerOf(p.ImportPath)
		if !ok {
			rule := "it lies in no layer; add its folder to the table in test/layering/imports.go"
			found = append(found, Violation{Package: p.ImportPath, Rule: rule})
			continue
		}
		for _, imported := range p.Imports {
			if rule := forbids(p.ImportPath, from, imported); rule != "" {
				found = append(found, Violation{Package: p.ImportPath, Import: imported, Rule: rule})
			}
		}
	}
	return found
}

// forbids returns the rule that an import breaks, or "".
func forbids(importer string, from layer, imported string) string {
	for _, r := range reserved {
		if within(imported, r.tree) && !slices.Contains(r.only, top(importer)) {
			return r.rule
		}
	}
	if !within(imported, module) || part(importer) == part(imported) {
		return ""
	}
	to, ok := layerOf(imported)
	if ok && slices.Contains(from.sees, to.name) {
		return ""
	}
	return from.rule
}

// layerOf returns the layer of a package of ours.
func layerOf(path string) (layer, bool) {
	for _, l := range layers {
		if slices.Contains(l.parts, top(path)) {
			return l, true
		}
	}
	return layer{}, false
}

// top returns the first folder below the module, or "" for the module's root and for others' packages.
func top(path string) string {
	below, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(below, "/")
	return first
}

// part returns the top folder, or, in internal, the one below it: those packages are apart.
func part(path string) string {
	first := top(path)
	if first != "internal" {
		return first
	}
	second, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/internal/"), "/")
	return first + "/" + second
}

// within tells whether a path is a tree's root or below it.
func within(path, tree string) bool {
	return path == tree || strings.HasPrefix(path, tree+"/")
}
