package layering

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's folder, seen from this package.
const root = "../.."

func TestThisTreeKeepsTheImportRules(t *testing.T) {
	for _, v := range Violations(listPackages(t)) {
		t.Error(v)
	}
}

func TestThisTreeNamesAndDocumentsItsPackages(t *testing.T) {
	for _, fault := range PackageFaults(listPackages(t)) {
		t.Error(fault)
	}
}

func TestThisTreePinsKubernetesAsOne(t *testing.T) {
	ours := readModules(t, "go.mod")
	upstream := readModules(t, strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.GoMod}}", kubernetes)))
	if len(staged(upstream)) == 0 {
		t.Fatalf("the go.mod of %s lists no staging modules: has their form changed?", kubernetes)
	}
	for _, fault := range StagingFaults(ours, upstream) {
		t.Errorf("%s (hack/update-replace.sh mends it)", fault)
	}
}

func TestThisTreeHasOnlyFilesThatCanBeRead(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a checkout: which files are ours only git knows")
	}
	names := strings.Split(output(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00")
	read := 0
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted but not yet committed, or a link to a folder
		}
		read++
		if fault := FileFault(name, content); fault != "" {
			t.Error(fault)
		}
	}
	if read == 0 {
		t.Fatal("git lists no file")
	}
}

// listPackages returns all packages of the module, those behind the tags of slow tests included.
func listPackages(t *testing.T) []Package {
	t.Helper()
	fields := "-json=ImportPath,Name,Doc,Imports,GoFiles"
	decoder := json.NewDecoder(strings.NewReader(output(t, "go", "list", "-e", "-tags=integration,e2e", fields, "./...")))
	var packages []Package
	for {
		var p Package
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("reading what go list prints: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list finds no package")
	}
	return packages
}

func readModules(t *testing.T, file string) Modules {
	t.Helper()
	var m Modules
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "edit", "-json", file)), &m); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	return m
}

// output runs a command in the module's folder and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = root
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running %s %s: %v\n%s", name, strings.Join(args, " "), err, complaints.String())
	}
	return string(out)
}
