package decide

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

var (
	over = quota.Verdict{Outcome: quota.Over, Shortages: []quota.Shortage{{Class: "nvidia.com/gpu", Want: 2, Held: 7, Reserved: 1, Limit: 8}}}
	busy = quota.Verdict{Outcome: quota.Busy, Shortages: []quota.Shortage{{Class: "nvidia.com/gpu", Want: 2, Held: 8, Reserved: 3, Limit: 8}}}
	fits = quota.Verdict{Outcome: quota.Fits}
)

func vision(policy v1alpha1.QuotaPolicy) Owner {
	return Owner{Team: "vision", Known: true, Policy: policy, Owner: "alice", TeamOwner: "alice", CostCenter: "cc-1"}
}

func podWith(labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "research", Name: "train", Labels: labels}}
}

// TestCreateByModeAndPolicy is the table of design note D8a.
func TestCreateByModeAndPolicy(t *testing.T) {
	reject, queue := vision(v1alpha1.QuotaReject), vision(v1alpha1.QuotaQueue)
	ownerless := reject
	ownerless.Owner = ""
	type want struct {
		outcome  Outcome
		code     int32
		warnings int
	}
	admitted, warned := want{outcome: OutcomeAdmitted}, want{outcome: OutcomeWarned, warnings: 1}
	refused, later := want{outcome: OutcomeRefused, code: http.StatusForbidden}, want{outcome: OutcomeRefused, code: http.StatusTooManyRequests}
	priced := want{outcome: OutcomeAdmitted, warnings: 1}
	trouble := errors.New("the ledger is busy")
	bound, foreign := podWith(nil), podWith(nil)
	bound.Spec.NodeName, foreign.Spec.SchedulerName = "n1", corev1.DefaultSchedulerName
	tests := map[string]struct {
		create                 Create
		observe, warn, enforce want
		wantReason             Reason
	}{
		"all is well":                      {create: Create{Owner: reject, Verdict: fits}, observe: admitted, warn: priced, enforce: priced},
		"reservation is there":             {create: Create{Owner: reject, Verdict: quota.Verdict{Outcome: quota.Known}}, observe: admitted, warn: priced, enforce: priced},
		"over quota":                       {create: Create{Owner: reject, Verdict: over}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonQuotaExceeded},
		"over quota, queues":               {create: Create{Owner: queue, Verdict: over}, observe: admitted, warn: warned, enforce: warned, wantReason: ReasonQuotaExceeded},
		"busy":                             {create: Create{Owner: reject, Verdict: busy}, observe: admitted, warn: warned, enforce: later, wantReason: ReasonQuotaBusy},
		"busy, queues":                     {create: Create{Owner: queue, Verdict: busy}, observe: admitted, warn: warned, enforce: warned, wantReason: ReasonQuotaBusy},
		"no ledger":                        {create: Create{Owner: reject, QuotaErr: trouble}, observe: admitted, warn: warned, enforce: later, wantReason: ReasonQuotaUnavailable},
		"no ledger, queues":                {create: Create{Owner: queue, QuotaErr: trouble}, observe: admitted, warn: warned, enforce: warned, wantReason: ReasonQuotaUnavailable},
		"no team":                          {create: Create{Verdict: fits}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonTeamMissing},
		"unknown team":                     {create: Create{Owner: Owner{Team: "visoin"}, Verdict: fits}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonTeamUnknown},
		"no owner":                         {create: Create{Owner: ownerless, Verdict: fits}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonOwnerMissing},
		"another team's label":             {create: Create{Owner: reject, Verdict: fits, Pod: podWith(map[string]string{v1alpha1.LabelTeam: "nlp"})}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonTeamDiffers},
		"not stamped":                      {create: Create{Owner: reject, Verdict: fits, Pod: podWith(map[string]string{"app": "x"})}, observe: admitted, warn: priced, enforce: priced},
		"claim is missing":                 {create: Create{Owner: reject, Verdict: fits, DemandErr: errors.New("claim gpu: not found")}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonClaimsUnknown},
		"claim cannot be read":             {create: Create{Owner: reject, Verdict: fits, DemandErr: trouble, DemandTransient: true}, observe: admitted, warn: warned, enforce: later, wantReason: ReasonClaimsUnknown},
		"over quota, queues, names a node": {create: Create{Owner: queue, Verdict: over, Pod: bound}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonQuotaExceeded},
		"over quota, queues, names another scheduler": {create: Create{Owner: queue, Verdict: over, Pod: foreign}, observe: admitted, warn: warned, enforce: refused, wantReason: ReasonQuotaExceeded},
		"busy, queues, names a node":                  {create: Create{Owner: queue, Verdict: busy, Pod: bound}, observe: admitted, warn: warned, enforce: later, wantReason: ReasonQuotaBusy},
		"no ledger, queues, names another scheduler":  {create: Create{Owner: queue, QuotaErr: trouble, Pod: foreign}, observe: admitted, warn: warned, enforce: later, wantReason: ReasonQuotaUnavailable},
		"owner lacks, queue full":                     {create: Create{Owner: func() Owner { o := queue; o.Owner = ""; return o }(), Verdict: over}, observe: admitted, warn: want{outcome: OutcomeWarned, warnings: 2}, enforce: refused, wantReason: ReasonOwnerMissing},
	}
	for name, test := range tests {
		for mode, want := range map[v1alpha1.Mode]want{v1alpha1.ModeObserve: test.observe, v1alpha1.ModeWarn: test.warn, v1alpha1.ModeEnforce: test.enforce} {
			t.Run(name+" in "+string(mode), func(t *testing.T) {
				c := test.create
				c.Namespace, c.Mode, c.Price = "research", mode, Price{Least: "13.76", Most: "13.76", Currency: "USD", Where: "p5.48xlarge"}
				if c.Pod == nil {
					c.Pod = podWith(nil)
				}
				if c.Served = []string{v1alpha1.SchedulerName}; c.Pod.Spec.SchedulerName == "" {
					c.Pod.Spec.SchedulerName = v1alpha1.SchedulerName
				}
				d := c.Judge()
				if d.Outcome != want.outcome || d.Code != want.code || len(d.Warnings) != want.warnings {
					t.Errorf("got %s, %d, %q; want %+v", d.Outcome, d.Code, d.Warnings, want)
				}
				if d.Reason() != test.wantReason {
					t.Errorf("reason %q, want %q", d.Reason(), test.wantReason)
				}
				checkWords(t, d)
			})
		}
	}
}

// checkWords: a refusal has words, a warning fits.
func checkWords(t *testing.T, d Decision) {
	t.Helper()
	if (d.Outcome == OutcomeRefused) != (d.Message != "") {
		t.Errorf("outcome %s with message %q", d.Outcome, d.Message)
	}
	for _, warning := range d.Warnings {
		if len(warning) > maxWarning || !strings.HasPrefix(warning, warningPrefix) || strings.ContainsAny(warning, "\n\r\t") {
			t.Errorf("warning %q", warning)
		}
	}
}

func TestRefusalSaysAllThatHelps(t *testing.T) {
	c := Create{Namespace: "research", Mode: v1alpha1.ModeEnforce, Pod: podWith(nil), Owner: vision(v1alpha1.QuotaReject), Verdict: over,
		Price: Price{Least: "3.93", Most: "13.76", Currency: "USD", Where: "depends on the node"}}
	want := "team vision is over quota: wants 2 nvidia.com/gpu, team holds 7 of 8, 1 of them for pods that are still being created; " +
		"this pod would cost 3.93 to 13.76 USD/h (depends on the node); free some, or ask alice to raise limits.classes of the team in wastenot-quota"
	if got := c.Judge().Message; got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
}

// TestWhoCannotWaitIsToldWhy: a team that queues has no place for a pod that no scheduler
// of ours places.
func TestWhoCannotWaitIsToldWhy(t *testing.T) {
	const full = "team vision is over quota: wants 2 nvidia.com/gpu, team holds 7 of 8, 1 of them for pods that are still being created"
	served := []string{v1alpha1.SchedulerName, "gpu-scheduler"}
	tests := map[string]struct {
		spec   corev1.PodSpec
		served []string
		// never is for a pod that is more than the limit.
		never bool
		want  string
	}{
		"ours":     {spec: corev1.PodSpec{SchedulerName: v1alpha1.SchedulerName}, served: served, want: full + "; the pod waits until it fits"},
		"ours too": {spec: corev1.PodSpec{SchedulerName: "gpu-scheduler"}, served: served, want: full + "; the pod waits until it fits"},
		"more than all of it": {spec: corev1.PodSpec{SchedulerName: v1alpha1.SchedulerName}, served: served, never: true,
			want: "team vision is over quota: wants 9 nvidia.com/gpu, team holds 0 of 8; it can never fit, so it does not wait; its price is unknown"},
		"node":              {spec: corev1.PodSpec{SchedulerName: v1alpha1.SchedulerName, NodeName: "n1"}, served: served, want: full + "; it cannot wait: it names node n1; its price is unknown"},
		"another scheduler": {spec: corev1.PodSpec{SchedulerName: "volcano"}, served: served, want: full + "; it cannot wait: scheduler volcano does not hold it, as wastenot-scheduler or gpu-scheduler would; its price is unknown"},
		"no scheduler":      {served: served[:1], want: full + "; it cannot wait: scheduler default-scheduler does not hold it, as wastenot-scheduler would; its price is unknown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podWith(nil)
			pod.Spec = test.spec
			c := Create{Namespace: "research", Mode: v1alpha1.ModeEnforce, Pod: pod, Owner: vision(v1alpha1.QuotaQueue), Verdict: over, Served: test.served}
			if test.never {
				c.Verdict = quota.Verdict{Outcome: quota.Over, Shortages: []quota.Shortage{{Class: "nvidia.com/gpu", Want: 9, Limit: 8}}}
			}
			d := c.Judge()
			if got := d.Findings[0].Text; !strings.HasPrefix(got, test.want) {
				t.Errorf("says\n%s\nwant\n%s", got, test.want)
			}
			if waits := strings.Contains(test.want, "waits"); d.Allowed() != waits || (c.Waits() != waits && !test.never) {
				t.Errorf("allowed %v, waits %v, want %v", d.Allowed(), c.Waits(), waits)
			}
		})
	}
	c := Create{Mode: v1alpha1.ModeEnforce, Pod: podWith(nil), Owner: vision(v1alpha1.QuotaQueue), Verdict: busy, Served: served[:1]}
	want := "; it cannot wait: scheduler default-scheduler does not hold it, as wastenot-scheduler would; try again"
	if got := c.Judge().Message; !strings.HasSuffix(got, want) {
		t.Errorf("says %q, want the end %q", got, want)
	}
	if got := (Create{Mode: v1alpha1.ModeEnforce, Pod: podWith(nil), Owner: vision(v1alpha1.QuotaReject), Verdict: busy}).Judge().Message; strings.Contains(got, "cannot wait") {
		t.Errorf("says %q to a team that does not queue", got)
	}
}

func TestQuotaIsAskedOnlyWhereItMatters(t *testing.T) {
	ownerless := vision(v1alpha1.QuotaReject)
	ownerless.Owner = ""
	tests := map[string]struct {
		mode  v1alpha1.Mode
		owner Owner
		want  bool
	}{
		"enforced":                      {mode: v1alpha1.ModeEnforce, owner: vision(v1alpha1.QuotaReject), want: true},
		"enforced, refused in any case": {mode: v1alpha1.ModeEnforce, owner: ownerless},
		"observed, would be refused":    {mode: v1alpha1.ModeObserve, owner: ownerless, want: true},
		"unknown team":                  {mode: v1alpha1.ModeObserve, owner: Owner{Team: "x"}},
		"no team":                       {mode: v1alpha1.ModeWarn},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Create{Pod: podWith(nil), Mode: test.mode, Owner: test.owner}).AskQuota(); got != test.want {
				t.Errorf("asks %v, want %v", got, test.want)
			}
		})
	}
}

func TestModeOf(t *testing.T) {
	for value, want := range map[string]v1alpha1.Mode{"": v1alpha1.ModeObserve, "observe": v1alpha1.ModeObserve, "warn": v1alpha1.ModeWarn, "enforce": v1alpha1.ModeEnforce, "Enforce": v1alpha1.ModeObserve} {
		mode, warning := ModeOf(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1alpha1.LabelMode: value}}})
		if mode != want {
			t.Errorf("%q is %s, want %s", value, mode, want)
		}
		if (value == "Enforce") != strings.Contains(warning, "Enforce") {
			t.Errorf("%q warns %q", value, warning)
		}
	}
}

func TestUnknownModeIsToldInTheAnswer(t *testing.T) {
	c := Create{Pod: podWith(nil), Owner: vision(v1alpha1.QuotaReject), Verdict: over, Mode: v1alpha1.ModeObserve, ModeWarning: "wastenot.dev/mode=Enforce is none"}
	d := c.Judge()
	if d.Outcome != OutcomeAdmitted || !slices.Equal(d.Warnings, []string{"wastenot: wastenot.dev/mode=Enforce is none"}) {
		t.Errorf("got %s, %q", d.Outcome, d.Warnings)
	}
}

func TestUpdateKeepsWhatIsStamped(t *testing.T) {
	type m = map[string]string
	pod := func(labels, annotations m) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}}
	}
	tests := map[string]struct {
		old, object *corev1.Pod
		wantKeys    string
	}{
		"nothing of ours": {old: pod(m{"a": "1"}, m{"b": "1"}), object: pod(m{"a": "2"}, nil)},
		"changed":         {old: pod(m{"wastenot.dev/team": "a"}, nil), object: pod(m{"wastenot.dev/team": "b"}, nil), wantKeys: "wastenot.dev/team"},
		"removed":         {old: pod(m{"wastenot.dev/team": "a"}, nil), object: pod(nil, nil), wantKeys: "wastenot.dev/team"},
		"added": {
			old: pod(nil, nil), object: pod(m{"wastenot.dev/owner": "", "wastenot.dev/cost-center": "x"}, m{"cost.wastenot.dev/basis": "mig"}),
			wantKeys: "wastenot.dev/cost-center, wastenot.dev/owner, cost.wastenot.dev/basis",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := test.wantKeys != ""
			for mode, want := range map[v1alpha1.Mode]Outcome{v1alpha1.ModeObserve: OutcomeAdmitted, v1alpha1.ModeWarn: OutcomeWarned, v1alpha1.ModeEnforce: OutcomeRefused} {
				d := Update{Old: test.old, New: test.object, Mode: mode}.Judge()
				if !changed {
					want = OutcomeAdmitted
				}
				if d.Outcome != want || (d.Reason() == ReasonFrozen) != changed {
					t.Errorf("%s: %s because of %q, want %s", mode, d.Outcome, d.Reason(), want)
				}
				if changed && !strings.HasPrefix(d.Findings[0].Text, test.wantKeys+" cannot change") {
					t.Errorf("%s: %q does not begin with %s", mode, d.Findings[0].Text, test.wantKeys)
				}
				checkWords(t, d)
			}
		})
	}
}

func TestWarningIsCutToLength(t *testing.T) {
	warning := Warning(strings.Repeat("Ö", 300) + "\nx")
	if len(warning) > maxWarning || !strings.HasSuffix(warning, "...") || strings.ContainsRune(warning, '�') {
		t.Errorf("%d bytes: %q", len(warning), warning)
	}
}

func TestRecordHoldsInputsAndOutcome(t *testing.T) {
	record := Record{Operation: "Create", User: "alice", Namespace: "research", Team: "vision"}.Decide(Decision{
		Outcome: OutcomeRefused, Code: 403, Findings: []Finding{{Reason: ReasonOwnerMissing, Text: "x"}, {Reason: ReasonQuotaBusy, Text: "y"}},
	})
	want := `{"operation":"Create","user":"alice","namespace":"research","team":"vision","outcome":"refused","code":403,"reasons":["OwnerMissing","QuotaBusy"],"details":"x; y"}`
	if got := record.AuditAnnotations()["decision"]; got != want || record.Reason() != ReasonOwnerMissing {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
