package layering

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestStagingFaults(t *testing.T) {
	const (
		pinned = `{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "k8s.io/api", "Version": "v0.37.2"}},
			{"Old": {"Path": "k8s.io/client-go"}, "New": {"Path": "k8s.io/client-go", "Version": "v0.37.2"}}`
		required = `{"Path": "k8s.io/kubernetes", "Version": "v1.37.2"}`
	)
	upstream := parse(t, `{"Replace": [
		{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
		{"Old": {"Path": "k8s.io/client-go"}, "New": {"Path": "./staging/src/k8s.io/client-go"}},
		{"Old": {"Path": "example.com/fork"}, "New": {"Path": "example.com/other", "Version": "v1.0.0"}}]}`)
	tests := map[string]struct {
		require, replace string
		want             []string // a part of each fault, in order
	}{
		"all of one release":     {require: required + `, {"Path": "k8s.io/api", "Version": "v0.37.2"}`, replace: pinned},
		"a placeholder required": {require: required + `, {"Path": "k8s.io/api", "Version": "v0.0.0"}`, replace: pinned},
		"another module of k8s":  {require: required + `, {"Path": "k8s.io/klog/v2", "Version": "v2.140.0"}`, replace: pinned},
		"another replacement": {require: required,
			replace: pinned + `, {"Old": {"Path": "example.com/a"}, "New": {"Path": "../a"}}`},
		"a required one lags": {require: required + `, {"Path": "k8s.io/client-go", "Version": "v0.36.5"}`, replace: pinned,
			want: []string{"k8s.io/client-go is required at v0.36.5; want v0.37.2"}},
		"kubernetes moved alone": {require: `{"Path": "k8s.io/kubernetes", "Version": "v1.38.0"}`, replace: pinned,
			want: []string{"k8s.io/api is replaced by k8s.io/api v0.37.2; want v0.38.0", "k8s.io/client-go is replaced"}},
		"one is not replaced": {require: required,
			replace: `{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "k8s.io/api", "Version": "v0.37.2"}}`,
			want:    []string{"k8s.io/client-go is not replaced"}},
		"one is replaced by a fork": {require: required,
			replace: strings.Replace(pinned, `"New": {"Path": "k8s.io/api"`, `"New": {"Path": "example.com/api"`, 1),
			want:    []string{"k8s.io/api is replaced by example.com/api v0.37.2"}},
		"one is left over": {require: required,
			replace: pinned + `, {"Old": {"Path": "k8s.io/gone"}, "New": {"Path": "k8s.io/gone", "Version": "v0.37.2"}}`,
			want:    []string{"k8s.io/gone is replaced but is no staging module"}},
		"no kubernetes": {replace: pinned, want: []string{"requires no k8s.io/kubernetes"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ours := parse(t, `{"Require": [`+test.require+`], "Replace": [`+test.replace+`]}`)
			got := StagingFaults(ours, upstream)
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i := range got {
				if !strings.Contains(got[i], test.want[i]) {
					t.Errorf("got %q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}

func parse(t *testing.T, text string) Modules {
	t.Helper()
	var m Modules
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
