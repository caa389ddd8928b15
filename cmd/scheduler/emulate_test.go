package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"
)

func TestVersionToEmulate(t *testing.T) {
	tests := map[string]struct {
		server    apiversion.Info
		want      string
		wantError string
	}{
		"a server of our own version":       {server: apiversion.Info{Minor: "37"}},
		"a newer server":                    {server: apiversion.Info{Minor: "38"}},
		"an older server":                   {server: apiversion.Info{Minor: "35"}, want: "1.35"},
		"a provider's spelling":             {server: apiversion.Info{Minor: "34+"}, want: "1.34"},
		"a server that emulates":            {server: apiversion.Info{Minor: "37", EmulationMinor: "34"}, want: "1.34"},
		"a server that emulates nothing":    {server: apiversion.Info{Minor: "36", EmulationMinor: "36"}, want: "1.36"},
		"the oldest server":                 {server: apiversion.Info{Minor: "34"}, want: "1.34"},
		"a server too old":                  {server: apiversion.Info{Minor: "33"}, wantError: "the oldest supported is 1.34"},
		"a server that emulates too old":    {server: apiversion.Info{Minor: "36", EmulationMinor: "33"}, wantError: "the oldest supported is 1.34"},
		"a version that cannot be read":     {server: apiversion.Info{Minor: "x", GitVersion: "v1.x"}, wantError: `reading the API server's version "v1.x"`},
		"a server that says nothing at all": {wantError: "reading the API server's version"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := versionToEmulate(&test.server, 37)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("error %v, want one with %q", err, test.wantError)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestEmulateServerAsksOnlyWhenItMust(t *testing.T) {
	unreachable := errors.New("no route to host")
	tests := map[string]struct {
		args      []string
		server    *apiversion.Info
		err       error
		wantAsked bool
		wantFlag  string
		wantError error
	}{
		"an older server":               {server: &apiversion.Info{Minor: "34"}, wantAsked: true, wantFlag: "kube=1.34"},
		"a server of our version":       {server: &apiversion.Info{Minor: "37"}, wantAsked: true},
		"an explicit version wins":      {args: []string{"--emulated-version=1.36"}, wantFlag: "1.36"},
		"only our version is asked for": {args: []string{"--version"}, err: unreachable},
		"the server cannot be reached":  {err: unreachable, wantAsked: true, wantError: unreachable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			asked, gatesSet, flag := false, false, ""
			command := &cobra.Command{
				SilenceErrors: true, SilenceUsage: true,
				PersistentPreRunE: func(*cobra.Command, []string) error { gatesSet = true; return nil },
				RunE:              func(*cobra.Command, []string) error { return nil },
			}
			command.Flags().StringVar(&flag, emulatedVersionFlag, "", "")
			command.Flags().Bool("version", false, "")
			emulateServer(command, func(*cobra.Command) (*apiversion.Info, error) {
				asked = true
				return test.server, test.err
			})
			command.SetArgs(append([]string{}, test.args...))
			err := command.ExecuteContext(t.Context())
			if !errors.Is(err, test.wantError) {
				t.Fatalf("error %v, want %v", err, test.wantError)
			}
			if asked != test.wantAsked || flag != test.wantFlag {
				t.Errorf("asked %t and set %q, want %t and %q", asked, flag, test.wantAsked, test.wantFlag)
			}
			if gatesSet != (err == nil) {
				t.Errorf("the command's own preparation ran: %t", gatesSet)
			}
		})
	}
}

func TestRESTConfigFollowsTheSchedulersOwnOrder(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := func(name, server string) string {
		return write(name, `{"clusters":[{"name":"c","cluster":{"server":"`+server+`"}}],`+
			`"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`)
	}
	ofFlag, ofFile := kubeconfig("flag.json", "https://flag:1"), kubeconfig("file.json", "https://file:2")
	config := write("config.yaml", "clientConnection: {kubeconfig: "+ofFile+"}\n")
	tests := map[string]struct {
		flags     map[string]string
		want      string
		wantError string
	}{
		"the flag":                        {flags: map[string]string{"kubeconfig": ofFlag}, want: "https://flag:1"},
		"the file before the flag":        {flags: map[string]string{"kubeconfig": ofFlag, "config": config}, want: "https://file:2"},
		"the master before both":          {flags: map[string]string{"config": config, "master": "https://master:3"}, want: "https://master:3"},
		"a file that is not there":        {flags: map[string]string{"config": filepath.Join(folder, "none")}, wantError: "no such file"},
		"a file that cannot be read":      {flags: map[string]string{"config": write("bad.yaml", "\t")}, wantError: "reading "},
		"neither, and outside a cluster":  {wantError: "no configuration has been provided"},
		"a file without, outside of both": {flags: map[string]string{"kubeconfig": ofFlag, "config": write("empty.yaml", "{}")}, wantError: "no configuration has been provided"},
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			command := &cobra.Command{}
			for _, name := range []string{"kubeconfig", "master", "config"} {
				command.Flags().String(name, test.flags[name], "")
			}
			got, err := restConfig(command)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("error %v, want one with %q", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Host != test.want {
				t.Errorf("host %s, want %s", got.Host, test.want)
			}
		})
	}
}
