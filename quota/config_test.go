package quota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
)

func TestParseReadsTeams(t *testing.T) {
	t.Parallel()
	cfg := parsed(t, `
teams:
- name: vision
  owner: ada
  costCenter: cc-1
  groups: [vision-users, admins]
  policy: Queue
  limits: {devices: "7.5", classes: {nvidia.com/gpu: 4}}
- name: audio
  limits: {classes: {deviceclass.resource.kubernetes.io/tpu.example.com: 2}}
classes:
  nvidia.com/gpu.shared: {devices: 0.25}
  deviceclass.resource.kubernetes.io/tpu.example.com: {devices: 4}
`)
	var names []string
	for _, team := range cfg.Teams() {
		names = append(names, team.Name)
	}
	if diff := cmp.Diff([]string{"audio", "vision"}, names); diff != "" {
		t.Error(diff)
	}
	if team, ok := cfg.Team("audio"); !ok || team.Policy != v1alpha1.QuotaReject {
		t.Errorf("got policy %q, %t, want the default, Reject", team.Policy, ok)
	}
	if !cfg.Known("deviceclass.resource.kubernetes.io/tpu.example.com") || cfg.Known("nvidia.com/gpu") {
		t.Error("Known is not what classes list")
	}
	if len(cfg.Hash()) != hashLength {
		t.Errorf("the hash is %q", cfg.Hash())
	}
}

// An empty file is rather a mistake than the end of all teams.
func TestEmptyTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "null", "---\n", "~"} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), `write "teams: []" to have no teams`) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestTooManyTeams(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("teams:\n")
	for i := range maxTeams + 1 {
		fmt.Fprintf(&text, "- {name: t%d, limits: {devices: 1}}\n", i)
	}
	if _, err := Parse([]byte(text.String())); err == nil || !strings.Contains(err.Error(), "teams: Too many: 1001: must have at most 1000 items") {
		t.Errorf("error %v", err)
	}
}

func TestNoTeams(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{}", "teams: []"} {
		if cfg := parsed(t, text); len(cfg.Teams()) != 0 || cfg.Hash() == "" {
			t.Errorf("%q: got %d teams, hash %q", text, len(cfg.Teams()), cfg.Hash())
		}
	}
	var none *Config
	if _, ok := none.Team("a"); ok || none.Known("a") || none.Hash() != "" || none.Teams() != nil {
		t.Error("a nil configuration has something")
	}
}

func TestHashIsOfContent(t *testing.T) {
	t.Parallel()
	base := parsed(t, "teams: [{name: a, groups: [g, x], limits: {devices: 1}}, {name: b, limits: {devices: 2}}]").Hash()
	same := parsed(t, "# a comment\nteams: [{name: b, policy: Reject, limits: {devices: 2000m}}, {name: a, groups: [x, g], limits: {devices: \"1.0\"}}]").Hash()
	other := parsed(t, "teams: [{name: a, groups: [g, x], limits: {devices: 1}}, {name: b, limits: {devices: 2.000001}}]").Hash()
	if base != same {
		t.Errorf("the same content has hashes %s and %s", base, same)
	}
	if base == other {
		t.Error("another limit has the same hash")
	}
}

func TestParseNamesEveryError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"unknown field":   {"teams: [{name: a, limit: {devices: 1}}]", []string{`unknown field "teams[0].limit"`}},
		"no YAML":         {"teams: {", []string{"decoding the quota configuration"}},
		"repeated key":    {"teams: []\nteams: []", []string{"decoding the quota configuration"}},
		"duplicate team":  {"teams: [{name: a, limits: {devices: 1}}, {name: a, limits: {devices: 1}}]", []string{"teams[1].name", "the name of teams[0] already"}},
		"bad names":       {"teams: [{name: A_b, limits: {devices: 1}}, {limits: {devices: 1}}]", []string{"teams[0].name", "teams[1].name", "RFC 1123"}},
		"bad labels":      {"teams: [{name: a, owner: a b, costCenter: '-', limits: {devices: 1}}]", []string{"teams[0].owner", "teams[0].costCenter", "label of pods"}},
		"bad policy":      {"teams: [{name: a, policy: queue, limits: {devices: 1}}]", []string{"teams[0].policy", `"queue"`, `"Reject", "Queue"`}},
		"overlap":         {"teams: [{name: a, groups: [g], limits: {devices: 1}}, {name: b, groups: [g], limits: {devices: 1}}]", []string{"teams[1].groups[0]", "overlaps with teams[0].groups[0]"}},
		"duplicate group": {"teams: [{name: a, groups: [g, g], limits: {devices: 1}}]", []string{"teams[0].groups[1]: Duplicate value"}},
		"empty group":     {"teams: [{name: a, groups: ['', ' x'], limits: {devices: 1}}]", []string{"teams[0].groups[0]", "teams[0].groups[1]"}},
		"no limits":       {"teams: [{name: a}, {name: b, limits: {classes: {}}}]", []string{"teams[0].limits: Required", "teams[1].limits: Required", "give devices, classes or both"}},
		"bad amounts": {
			"teams: [{name: a, limits: {devices: -1, classes: {nvidia.com/gpu: -1}}}, {name: b, limits: {devices: 0.0000001}}, {name: c, limits: {devices: 2G}}, {name: d, limits: {classes: {nvidia.com/gpu: 1000000001}}}]",
			[]string{"teams[0].limits.devices", "teams[0].limits.classes[nvidia.com/gpu]", "teams[1].limits.devices", "at most 6 decimals", "teams[2].limits.devices", "teams[3].limits.classes[nvidia.com/gpu]"},
		},
		"no amounts":      {"teams: [{name: a, limits: {devices: many}}, {name: b, limits: {devices: [1]}}]\nclasses: {nvidia.com/gpu: {devices: x}}", []string{"teams[0].limits.devices", "teams[1].limits.devices", "classes[nvidia.com/gpu].devices", "such as 8 or 0.25"}},
		"unknown classes": {"teams: [{name: a, limits: {classes: {nvidia.com/gpus: 1, deviceclass.resource.kubernetes.io/x: 1}}}]", []string{"limits.classes[nvidia.com/gpus]", "limits.classes[deviceclass.resource.kubernetes.io/x]", "under classes"}},
		"bad classes":     {"classes: {cpu: {devices: 1}, deviceclass.resource.kubernetes.io/A: {devices: 1}, nvidia.com/mig-!: {devices: 1}}", []string{"classes[cpu]", "classes[deviceclass.resource.kubernetes.io/A]", "classes[nvidia.com/mig-!]", "is no accelerator"}},
		"bad weights":     {"classes: {nvidia.com/gpu: {devices: 0}, nvidia.com/gpu.shared: {devices: 1001}, aws.amazon.com/neuron: {}}", []string{"classes[nvidia.com/gpu].devices", "classes[nvidia.com/gpu.shared].devices", "classes[aws.amazon.com/neuron].devices", "0.000001 to 1000"}},
		"too long":        {strings.Repeat("#", maxText+1), []string{"at most 1048576"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	texts := map[string]string{
		"many bad teams":  "teams:\n" + strings.Repeat("- {name: A}\n", 2_000),
		"long name":       "teams: [{name: " + strings.Repeat("A", 100_000) + "}]",
		"long field":      "teams: [{" + strings.Repeat("a", 100_000) + ": 1}]",
		"long class":      "classes: {" + strings.Repeat("a", 100_000) + ": {devices: 1}}",
		"long amount":     "teams: [{name: a, limits: {devices: \"" + strings.Repeat("9", 100_000) + "\"}}]",
		"many bad values": "teams:\n" + strings.Repeat("- {limits: {devices: x}}\n", 2_000),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(text))
			if err == nil || len(err.Error()) > most {
				t.Fatalf("got no error, or one of more than %d bytes", most)
			}
			if strings.HasPrefix(name, "many") && !strings.Contains(err.Error(), " more") {
				t.Error("it does not say that there are more")
			}
		})
	}
}

// An exponent of a billion keeps Quantity's parser busy for minutes.
func TestAmountsCannotKeepParseBusy(t *testing.T) {
	t.Parallel()
	for _, amount := range []string{"1e-999999999", "1e999999999", "1E99", "1e-99", "1e-1000"} {
		for _, form := range []string{"teams: [{name: a, limits: {devices: %q}}]", "classes: {nvidia.com/gpu: {devices: %q}}", "teams: [{name: a, limits: {DEVICES: %q}}]"} {
			done := make(chan error, 1)
			go func() {
				_, err := Parse(fmt.Appendf(nil, form, amount))
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%s is an amount", amount)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s keeps the parser busy", amount)
			}
		}
	}
}

// FuzzParse: no text makes Parse panic, hang or say more than anybody can read, and what
// it takes, every team can be configured from.
func FuzzParse(f *testing.F) {
	f.Add([]byte("teams: [{name: a, groups: [g], policy: Queue, limits: {devices: 1.5, classes: {nvidia.com/gpu: 1}}}]"))
	f.Add([]byte("classes: {nvidia.com/gpu.shared: {devices: 250m}}"))
	f.Add([]byte("teams: [{name: a, limits: {devices: \"1e-999999999\", Devices: 1}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("teams: 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := Parse(text)
		if err != nil {
			if len(err.Error()) > 1<<20 {
				t.Fatal("the error is too long")
			}
			return
		}
		for _, team := range cfg.Teams() {
			ledger, changed := Configure(nil, cfg, team.Name)
			if !changed {
				t.Fatal("a new ledger is no change")
			}
			for class := range team.Limits.Classes {
				_, verdict := Admit(ledger, Want{UID: "u", Demand: map[string]int64{class: 1 << 62}}, noon)
				if verdict.Admitted() {
					t.Fatalf("team %s may have 1<<62 %s", team.Name, class)
				}
			}
		}
	})
}

func parsed(t *testing.T, text string) *Config {
	t.Helper()
	cfg, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
