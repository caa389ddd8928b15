package health

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
)

func defaultRules(t *testing.T) map[int]XIDRule {
	t.Helper()
	rules, err := loadXIDTable(xidTable)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func checkRule(t *testing.T, code int, rule XIDRule) {
	t.Helper()
	grades := []v1alpha1.Grade{v1alpha1.GradeHealthy, v1alpha1.GradeSuspect, v1alpha1.GradeDegraded, v1alpha1.GradeFailed, v1alpha1.GradeUnknown}
	switch {
	case rule.Code != code || code <= 0:
		t.Errorf("code %d: the rule says %d", code, rule.Code)
	case rule.Name == "" || rule.Class == "":
		t.Errorf("code %d: has no name or class", code)
	case !slices.Contains(grades, rule.Grade):
		t.Errorf("code %d: %q is no grade of evidence", code, rule.Grade)
	case !slices.Contains(allActions, rule.Action):
		t.Errorf("code %d: %q is no action", code, rule.Action)
	}
}

func TestTableHoldsTheCatalogue(t *testing.T) {
	t.Parallel()
	rules := defaultRules(t)
	if len(rules) != 172 {
		t.Errorf("the table has %d codes, the catalogue 172", len(rules))
	}
	for code := 1; code <= 172; code++ {
		if _, found := rules[code]; !found {
			t.Errorf("code %d is missing", code)
		}
	}
	for code, rule := range rules {
		checkRule(t, code, rule)
		if rule.Grade == v1alpha1.GradeFailed && rule.Action == v1alpha1.ActionNone {
			t.Errorf("code %d: the device is given up and nobody is told what to do", code)
		}
	}
}

// The catalogue's immediate actions: RESET_GPU, RESTART_BM and the like make a device
// Failed; RESTART_APP and IGNORE do not.
func TestTableFollowsTheCatalogue(t *testing.T) {
	t.Parallel()
	want := map[int]XIDRule{
		13:  {Code: 13, Name: "Graphics Engine Exception", Class: "application", Grade: v1alpha1.GradeHealthy, Action: v1alpha1.ActionRestartApp, PluginIgnores: true},
		48:  {Code: 48, Name: "Double Bit ECC Error", Class: "hardware-memory", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionResetDevice},
		64:  {Code: 64, Name: "GPU memory remapping failure", Class: "hardware-memory", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionReplaceDevice},
		74:  {Code: 74, Name: "NVLINK Error", Class: "interconnect", Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionInspectLink},
		79:  {Code: 79, Name: "GPU has fallen off the bus", Class: "hardware-bus", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionRebootNode},
		94:  {Code: 94, Name: "Contained memory error", Class: "hardware-memory", Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionRestartApp},
		95:  {Code: 95, Name: "Uncontained memory error", Class: "hardware-memory", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionResetDevice},
		109: {Code: 109, Name: "Context Switch Timeout Error", Class: "hardware-or-driver", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionResetDevice, PluginIgnores: true},
		119: {Code: 119, Name: "GSP RPC Timeout", Class: "firmware-driver", Grade: v1alpha1.GradeFailed, Action: v1alpha1.ActionResetDevice},
	}
	got := map[int]XIDRule{}
	rules := defaultRules(t)
	for code := range want {
		got[code] = rules[code]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// The list is that of nvidia.com/gpu's device plugin (health.go).
func TestTableKnowsWhatTheDevicePluginIgnores(t *testing.T) {
	t.Parallel()
	var ignored []int
	for code, rule := range defaultRules(t) {
		if rule.PluginIgnores {
			ignored = append(ignored, code)
		}
	}
	slices.Sort(ignored)
	if diff := cmp.Diff([]int{13, 31, 43, 45, 68, 109}, ignored); diff != "" {
		t.Errorf("ignored codes (-want +got):\n%s", diff)
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	t.Parallel()
	const header = "code,name,class,grade,action,device_plugin_ignores\n"
	for name, text := range map[string]string{
		"empty":           "",
		"another header":  "xid,name\n79,lost\n",
		"code is no code": header + "seventynine,lost,bus,Failed,RebootNode,no\n",
		"short row":       header + "79,lost\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rules, err := loadXIDTable(text); err == nil {
				t.Errorf("the table was taken: %v", rules)
			}
		})
	}
}

func TestXIDOfAFindingIsTheCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"XID79": 79, "XID999": 999, "XID": 0, "XID-1": 0, "XIDs": 0, "RowRemapFailure": 0, "79": 0} {
		if got, isXID := xidOf(code); isXID != (want > 0) || (isXID && got != want) {
			t.Errorf("%s: got %d, %t; want %d", code, got, isXID, want)
		}
	}
}
