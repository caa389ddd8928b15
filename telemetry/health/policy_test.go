package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
)

func TestPolicyKeepsDefaultsOfWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	defaults, err := DefaultPolicy()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text string
		want func(*Policy)
	}{
		"nothing":  {text: "", want: func(*Policy) {}},
		"comments": {text: "# nothing yet\n", want: func(*Policy) {}},
		"one duration": {
			text: "probation: 25m",
			want: func(p *Policy) { p.Probation = 25 * time.Minute },
		},
		"throttling": {
			text: "throttle: {suspectAfter: 1m, degradedAfter: 1m}",
			want: func(p *Policy) { p.ThrottleSuspect, p.ThrottleDegraded = time.Minute, time.Minute },
		},
		"replays": {
			text: "pcieReplaysPerMinute: 500",
			want: func(p *Policy) { p.PCIeReplaysPerMinute = 500 },
		},
		"a code of the catalogue keeps its name, class and action": {
			text: `xid: {"94": {grade: Failed}}`,
			want: func(p *Policy) {
				p.XID[94] = XIDRule{Code: 94, Name: "Contained memory error", Class: "hardware-memory", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionRestartApp}
			},
		},
		"what the device plugin does is a fact, not a policy": {
			text: `xid: {"13": {grade: Suspect, action: ContactSupport}}`,
			want: func(p *Policy) {
				p.XID[13] = XIDRule{Code: 13, Name: "Graphics Engine Exception", Class: "application", Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionContactSupport, PluginIgnores: true}
			},
		},
		"a code of no catalogue": {
			text: `xid: {"900": {grade: Healthy}}`,
			want: func(p *Policy) {
				p.XID[900] = XIDRule{Code: 900, Name: "code not in the catalogue", Class: "unknown", Grade: v1alpha1.GradeHealthy, Action: v1alpha1.ActionContactSupport}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := *defaults
			want.XID = make(map[int]XIDRule, len(defaults.XID))
			for code, rule := range defaults.XID {
				want.XID[code] = rule
			}
			test.want(&want)
			got, err := ParsePolicy([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyNamesEveryFault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"unknown field":                 {"probatoin: 1m", []string{`"probatoin"`}},
		"unknown nested field":          {"throttle: {suspectafter2: 1m}", []string{`"throttle.suspectafter2"`}},
		"unknown field of a code":       {`xid: {"79": {grade: Failed, verdict: bad}}`, []string{`"xid.79.verdict"`}},
		"field given twice":             {"probation: 1m\nprobation: 2m", []string{`"probation"`}},
		"no YAML":                       {"probation: [", []string{"decoding the health policy"}},
		"a number where text is wanted": {"probation: 10", []string{"probation: Invalid value: 10"}},
		"text where a number is wanted": {"pcieReplaysPerMinute: many", []string{"pcieReplaysPerMinute"}},
		"durations that are none": {
			"probation: ten\nthrottle: {suspectAfter: 30 seconds, degradedAfter: 10m}",
			[]string{`probation: Invalid value: "ten"`, `throttle.suspectAfter: Invalid value: "30 seconds"`},
		},
		"every bad value at once": {
			"probation: 0s\nthrottle: {suspectAfter: -1s, degradedAfter: -2s}\npcieReplaysPerMinute: 0\n" +
				`xid: {"79": {grade: Broken, action: Pray}, "nope": {grade: Failed}, "-3": {grade: Failed}, "080": {grade: Failed}, "31": {action: None}}`,
			[]string{
				"probation: Invalid value", "throttle.suspectAfter: Invalid value", "throttle.degradedAfter: Invalid value",
				"pcieReplaysPerMinute: Invalid value",
				`xid[79].grade: Unsupported value: "Broken"`, `xid[79].action: Unsupported value: "Pray"`,
				"xid[nope]: Invalid value", "xid[-3]: Invalid value", "xid[080]: Invalid value", "xid[31].grade: Unsupported value",
			},
		},
		"Unknown is no grade that evidence can have": {`xid: {"79": {grade: Unknown}}`, []string{"xid[79].grade"}},
		"degraded before suspect":                    {"throttle: {suspectAfter: 20m}", []string{"throttle.degradedAfter", "20m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParsePolicy([]byte(test.text))
			if err == nil {
				t.Fatal("the policy was taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add("probation: 10m\nthrottle: {suspectAfter: 30s}\n")
	f.Add(`xid: {"94": {grade: Healthy, action: RestartApp}}`)
	f.Add("throttle: []\nprobation: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := ParsePolicy([]byte(text))
		if err != nil {
			return
		}
		if policy.Probation <= 0 || policy.ThrottleSuspect <= 0 || policy.ThrottleDegraded < policy.ThrottleSuspect || policy.PCIeReplaysPerMinute <= 0 {
			t.Errorf("a policy was taken that cannot be meant: %+v", policy)
		}
		for code, rule := range policy.XID {
			checkRule(t, code, rule)
		}
	})
}
