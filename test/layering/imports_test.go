package layering

import (
	"strings"
	"testing"
)

func TestImportRules(t *testing.T) {
	const framework = "k8s.io/kube-scheduler/framework"
	tests := map[string]struct {
		from, to string
		wantRule string // a part of the rule that is broken; empty where the import is allowed
	}{
		"api sees api":                         {from: "api/telemetry/v1alpha1", to: "wastenot.dev/api/v1alpha1"},
		"api does not see internal":            {from: "api/v1alpha1", to: "wastenot.dev/internal/tls", wantRule: "api is a leaf"},
		"api does not see a core":              {from: "api/v1alpha1", to: "wastenot.dev/placement", wantRule: "api is a leaf"},
		"internal sees api":                    {from: "internal/fleet", to: "wastenot.dev/api/v1alpha1"},
		"internal sees its own subpackages":    {from: "internal/fleet", to: "wastenot.dev/internal/fleet/fake"},
		"internal does not see a neighbor":     {from: "internal/fleet", to: "wastenot.dev/internal/tls", wantRule: "not each other"},
		"internal does not see a core":         {from: "internal/fleet", to: "wastenot.dev/quota", wantRule: "are leaves"},
		"internal does not see the rim":        {from: "internal/fleet", to: "wastenot.dev/telemetry", wantRule: "are leaves"},
		"a core sees leaves":                   {from: "placement", to: "wastenot.dev/internal/accelerator"},
		"a core sees its own subpackages":      {from: "placement", to: "wastenot.dev/placement/mig"},
		"a core does not see a core":           {from: "quota", to: "wastenot.dev/pricing", wantRule: "are cores"},
		"a core does not see the rim":          {from: "pricing/split", to: "wastenot.dev/telemetry/meter", wantRule: "are cores"},
		"the rim sees cores":                   {from: "scheduler", to: "wastenot.dev/placement"},
		"the rim sees leaves":                  {from: "webhook", to: "wastenot.dev/api/v1alpha1"},
		"the rim sees itself":                  {from: "telemetry/serve", to: "wastenot.dev/telemetry/store"},
		"the rim does not see the rim":         {from: "scheduler", to: "wastenot.dev/telemetry/store", wantRule: "never each other"},
		"the rim does not see test":            {from: "deviceplugin", to: "wastenot.dev/test/fixture", wantRule: "never each other"},
		"the rim does not see cmd":             {from: "webhook", to: "wastenot.dev/cmd/webhook", wantRule: "never each other"},
		"cmd sees the rim":                     {from: "cmd/demo", to: "wastenot.dev/telemetry"},
		"cmd sees test":                        {from: "cmd/demo", to: "wastenot.dev/test/controlplane"},
		"test sees the rim":                    {from: "test/integration", to: "wastenot.dev/webhook"},
		"nobody sees a package in no layer":    {from: "scheduler", to: "wastenot.dev/stray", wantRule: "are the rim"},
		"cmd sees kubernetes":                  {from: "cmd/scheduler", to: "k8s.io/kubernetes/cmd/kube-scheduler/app"},
		"test sees kubernetes":                 {from: "test/controlplane/server", to: "k8s.io/kubernetes/pkg/controlplane"},
		"the scheduler does not":               {from: "scheduler", to: "k8s.io/kubernetes/pkg/scheduler", wantRule: "only cmd, test"},
		"a leaf does not":                      {from: "internal/accelerator", to: "k8s.io/kubernetes/pkg/apis/core", wantRule: "only cmd, test"},
		"the scheduler sees the framework":     {from: "scheduler", to: framework},
		"a core does not see the framework":    {from: "placement", to: framework, wantRule: "scheduling framework"},
		"telemetry does not see the framework": {from: "telemetry/health", to: framework, wantRule: "scheduling framework"},
		"args of the scheduler are for all":    {from: "telemetry", to: "k8s.io/kube-scheduler/config/v1"},
		"a likely prefix is no tree":           {from: "scheduler", to: "k8s.io/kubernetes-fork"},
		"others' packages are free":            {from: "quota", to: "sigs.k8s.io/yaml"},
		"so is the standard library":           {from: "api/v1alpha1", to: "time"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			importer := module + "/" + test.from
			got := Violations([]Package{{ImportPath: importer, Imports: []string{"fmt", test.to}}})
			if test.wantRule == "" {
				if len(got) != 0 {
					t.Fatalf("got %v, want none", got)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("got %v, want one violation", got)
			}
			for _, want := range []string{importer, test.to, test.wantRule} {
				if !strings.Contains(got[0].String(), want) {
					t.Errorf("%q does not name %q", got[0], want)
				}
			}
		})
	}
}

func TestAPackageMustLieInALayer(t *testing.T) {
	for _, path := range []string{"wastenot.dev", "wastenot.dev/stray", "wastenot.dev/hack/tool"} {
		got := Violations([]Package{{ImportPath: path}})
		if len(got) != 1 || !strings.Contains(got[0].String(), "no layer") {
			t.Errorf("%s: got %v, want that it lies in no layer", path, got)
		}
	}
}

func TestEveryViolationIsReported(t *testing.T) {
	got := Violations([]Package{
		{ImportPath: "wastenot.dev/scheduler", Imports: []string{"k8s.io/kubernetes/pkg/scheduler", "wastenot.dev/webhook"}},
		{ImportPath: "wastenot.dev/quota", Imports: []string{"wastenot.dev/placement"}},
	})
	if len(got) != 3 {
		t.Errorf("got %v, want 3", got)
	}
}
