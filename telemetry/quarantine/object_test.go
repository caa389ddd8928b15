package quarantine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
)

func TestObjectNameIsANameWhateverTheUUID(t *testing.T) {
	t.Parallel()
	const digest = "device-"
	for uuid, want := range map[string]string{
		"GPU-c2f76b33-0000-4000-8000-000000000001": "gpu-c2f76b33-0000-4000-8000-000000000001",
		"GPU-A":                   "gpu-a",
		"GPU_A":                   digest,
		"GPU A":                   digest,
		"../../nodes":             digest,
		"-GPU":                    digest,
		"GPU-":                    digest,
		"ГПУ":                     digest,
		strings.Repeat("A", 63):   strings.Repeat("a", 63),
		strings.Repeat("A", 64):   digest,
		strings.Repeat("A", 9999): digest,
	} {
		got := objectName(uuid)
		if (want == digest && !strings.HasPrefix(got, digest)) || (want != digest && got != want) {
			t.Errorf("%.80q: got %q, want %q", uuid, got, want)
		}
		if faults := validation.IsDNS1123Subdomain(got); len(faults) > 0 {
			t.Errorf("%.80q: %q is no name: %v", uuid, got, faults)
		}
	}
	if objectName("GPU_A") == objectName("GPU_B") || objectName("GPU_A") == objectName("gpu_a") {
		t.Error("two devices have one name")
	}
}

func TestStatusHoldsOnlyEvidenceAndNotTooMuch(t *testing.T) {
	t.Parallel()
	d := fallen("GPU-A")
	d.Reasons = append(d.Reasons, reason("NoReading", unknown))
	for n := range 30 {
		d.Reasons = append(d.Reasons, reason(fmt.Sprint("XID", 200+n), suspect))
	}
	status := statusOf(&d, false)
	if len(status.Evidence) != maxEvidence || status.Evidence[0].Code != "XID79" {
		t.Errorf("%d pieces of evidence, the first %s", len(status.Evidence), status.Evidence[0].Code)
	}
	for _, e := range status.Evidence {
		if e.Grade == unknown {
			t.Errorf("%s is no evidence", e.Code)
		}
	}
}

// What is written is what a new process starts from.
func TestFindingsComeBackFromTheObject(t *testing.T) {
	t.Parallel()
	seen := midnight.Add(time.Second)
	bare := func(change func(*v1alpha1.Quarantine)) *v1alpha1.Quarantine {
		q := newObject("node-1", pointer(fallen("GPU-A")))
		q.CreationTimestamp = metav1.Time{Time: midnight}
		change(q)
		return q
	}
	for name, test := range map[string]struct {
		object *v1alpha1.Quarantine
		want   []health.Finding
	}{
		"as written": {
			object: bare(func(*v1alpha1.Quarantine) {}),
			want: []health.Finding{
				{Code: "XID79", Grade: failed, Action: v1alpha1.ActionRebootNode, Detail: "about XID79", Source: "dcgm", FirstSeen: seen},
				{Code: "PCIeReplays", Grade: suspect, Action: v1alpha1.ActionRebootNode, Detail: "about PCIeReplays", Source: "dcgm", FirstSeen: seen},
			},
		},
		"the status was never written": {
			object: bare(func(q *v1alpha1.Quarantine) { q.Status = v1alpha1.QuarantineStatus{} }),
			want:   []health.Finding{{Code: "XID79", Grade: failed, Action: v1alpha1.ActionRebootNode, FirstSeen: midnight}},
		},
		"on probation, which begins anew": {
			object: bare(func(q *v1alpha1.Quarantine) {
				q.Status.Phase, q.Status.CleanSince = v1alpha1.PhaseProbation, &metav1.Time{Time: midnight}
				q.Status.Evidence = q.Status.Evidence[:1]
			}),
			want: []health.Finding{{Code: "XID79", Grade: failed, Action: v1alpha1.ActionRebootNode, Detail: "about XID79", Source: "dcgm", FirstSeen: seen}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Findings(test.object)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReasonOfADeviceWithoutReasons(t *testing.T) {
	t.Parallel()
	if got := reasonOf(&fleet.Device{Grade: failed}); got != "Failed" {
		t.Errorf("got %q", got)
	}
}

// TestModelIsMadePresentable: what an exporter calls a device must not keep it from
// being quarantined.
func TestModelIsMadePresentable(t *testing.T) {
	t.Parallel()
	d := device("GPU-A", v1alpha1.GradeFailed)
	d.Model = "NVIDIA \x1b[2JL4\n" + strings.Repeat("x", 200) + "é"
	if got := modelOf(&d); len(got) != 128 || !strings.HasPrefix(got, "NVIDIA [2JL4x") {
		t.Errorf("the model is %q", got)
	}
}
