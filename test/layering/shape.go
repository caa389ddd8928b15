package layering

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Longest files in lines. One that outgrows its limit holds more than one idea.
const (
	maxLines     = 500
	maxTestLines = 800
)

// vague are names that say nothing about what a package provides.
var vague = []string{"util", "utils", "common", "helper", "helpers", "type", "types", "manager", "misc", "shared"}

// generated is the line by which Go tools mark a file that no person edits.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// home matches a folder of one person's machine, not the path of a URL. In pieces, so that this file
// does not match itself.
var home = regexp.MustCompile(`(?m:^|[^A-Za-z0-9._-])(?:/ho` + `me/|/Us` + `ers/|/ro` + `ot/|[A-Z]:\\Us` + `ers\\)[A-Za-z0-9._-]+`)

// PackageFaults returns what is wrong with the name and the documentation of packages.
func PackageFaults(packages []Package) []string {
	var found []string
	for _, p := range packages {
		for element := range strings.SplitSeq(p.ImportPath, "/") {
			if slices.Contains(vague, element) {
				found = append(found, fmt.Sprintf("%s: %q does not say what it provides", p.ImportPath, element))
			}
		}
		if slices.Contains(vague, p.Name) {
			found = append(found, fmt.Sprintf("%s: package %q does not say what it provides", p.ImportPath, p.Name))
		}
		if fault := docFault(p); fault != "" {
			found = append(found, fmt.Sprintf("%s: %s", p.ImportPath, fault))
		}
	}
	return found
}

// docFault returns what is wrong with a package's comment, or "". A command may have it in main.go.
func docFault(p Package) string {
	switch {
	case p.Name == "":
		return "" // go list could not read it; the compiler says why
	case p.Name != "main" && !slices.Contains(p.GoFiles, "doc.go"):
		return "has no doc.go"
	case p.Name != "main" && !strings.HasPrefix(p.Doc, "Package "+p.Name):
		return fmt.Sprintf("its package comment does not begin with %q", "Package "+p.Name)
	case p.Doc == "":
		return "has no package comment"
	}
	return ""
}

// FileFault returns what is wrong with a file of the tree, or "". The name is relative to its root.
func FileFault(name string, content []byte) string {
	if bytes.IndexByte(content, 0) >= 0 {
		return "" // not text
	}
	if match := home.Find(content); match != nil {
		return fmt.Sprintf("%s names a folder of one machine: %s", name, bytes.TrimSpace(match))
	}
	limit, ok := lineLimit(name)
	if !ok || generated.Match(content) {
		return ""
	}
	if lines := bytes.Count(content, []byte("\n")); lines > limit {
		return fmt.Sprintf("%s has %d lines, more than %d", name, lines, limit)
	}
	return ""
}

// lineLimit returns the most lines that a file may have; false where none applies, as to test data.
func lineLimit(name string) (int, bool) {
	switch {
	case slices.Contains(strings.Split(name, "/"), "testdata"):
		return 0, false
	case strings.HasSuffix(name, "_test.go"):
		return maxTestLines, true
	case slices.Contains([]string{".go", ".sh", ".proto"}, path.Ext(name)):
		return maxLines, true
	}
	return 0, false
}
