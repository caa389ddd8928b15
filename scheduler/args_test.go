package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"wastenot.dev/api/v1alpha1"
)

func raw(text string) runtime.Object { return &runtime.Unknown{Raw: []byte(text)} }

func TestDecodeArgs(t *testing.T) {
	full := v1alpha1.FleetClientArgs{
		Address: "telemetry:9443", ServerName: "telemetry.svc", CAFile: "ca.crt", TokenFile: "token",
		StaleAfter: &metav1.Duration{Duration: 30 * time.Second},
	}
	defaults := v1alpha1.FleetClientArgs{StaleAfter: &metav1.Duration{Duration: 10 * time.Second}}
	tests := map[string]struct {
		in   runtime.Object
		want v1alpha1.FleetClientArgs
	}{
		"nothing":     {want: defaults},
		"empty":       {in: raw(""), want: defaults},
		"JSON null":   {in: raw("null"), want: defaults},
		"empty JSON":  {in: raw("{}"), want: defaults},
		"with a kind": {in: raw(`{"apiVersion":"wastenot.dev/v1alpha1","kind":"AcceleratorsArgs"}`), want: defaults},
		"full JSON": {
			in:   raw(`{"telemetry":{"address":"telemetry:9443","serverName":"telemetry.svc","caFile":"ca.crt","tokenFile":"token","staleAfter":"30s"}}`),
			want: full,
		},
		"full YAML": {
			in:   raw("telemetry:\n  address: telemetry:9443\n  serverName: telemetry.svc\n  caFile: ca.crt\n  tokenFile: token\n  staleAfter: 30s\n"),
			want: full,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := decodeArgs(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Telemetry); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeArgsNamesWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		in   runtime.Object
		want []string
	}{
		"a misspelled field":             {in: raw(`{"telemetry":{"tokenFil":"token"}}`), want: []string{"tokenFil"}},
		"a misspelled field in YAML":     {in: raw("telemetri: {}\n"), want: []string{"telemetri"}},
		"a field in the wrong place":     {in: raw(`{"caFile":"ca.crt"}`), want: []string{"caFile"}},
		"a field that comes twice":       {in: raw("telemetry: {caFile: a, caFile: b}\n"), want: []string{"caFile"}},
		"a value of the wrong type":      {in: raw(`{"telemetry":{"address":9443}}`), want: []string{"address"}},
		"a time that is none":            {in: raw(`{"telemetry":{"staleAfter":"soon"}}`), want: []string{"soon"}},
		"no object":                      {in: raw(`[]`), want: []string{"decoding the args of plugin Accelerators"}},
		"args of another plugin":         {in: &corev1.Pod{}, want: []string{"*v1.Pod"}},
		"a time too short":               {in: raw(`{"telemetry":{"staleAfter":"10ms"}}`), want: []string{"telemetry.staleAfter"}},
		"all but the address":            {in: raw(`{"telemetry":{"caFile":"ca.crt","tokenFile":"token"}}`), want: []string{"telemetry.address"}},
		"an address and nothing else":    {in: raw(`{"telemetry":{"address":"telemetry:9443"}}`), want: []string{"telemetry.caFile", "telemetry.tokenFile"}},
		"everything that can be invalid": {in: raw(`{"telemetry":{"address":"telemetry","staleAfter":"0s"}}`), want: []string{"telemetry.address", "telemetry.caFile", "telemetry.tokenFile", "telemetry.staleAfter"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := decodeArgs(test.in)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %s", err, want)
				}
			}
		})
	}
}
