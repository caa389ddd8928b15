package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/webhook/decide"
)

// maxNote is how long the note of an Event may be (k8s.io/api/events/v1).
const maxNote = 1024

// actionAdmit and actionRead are what Events say was being done.
const (
	actionAdmit = "Admitting"
	actionRead  = "Reading"
)

// reporter tells of decisions: in the log, as metrics, and as Events on the namespace.
type reporter struct {
	decisions *prometheus.CounterVec
	durations *prometheus.HistogramVec
	missed    *prometheus.CounterVec
	events    events.EventRecorder
	// broadcaster gathers repeated Events into series.
	broadcaster events.EventBroadcaster
}

func newReporter(client kubernetes.Interface, registry prometheus.Registerer) *reporter {
	r := &reporter{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wastenot_webhook_decisions_total",
			Help: "Admission decisions on pods by operation, mode of the namespace, outcome and first reason; mode and reason are empty where there is none.",
		}, []string{"operation", "mode", "outcome", "reason"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wastenot_webhook_decision_duration_seconds", Help: "Time that admission decisions on pods took.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
		missed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wastenot_webhook_unjudged_total",
			Help: "Requests that were not judged, by path and cause: panic, a fault of ours, or unreadable. They are refused at /enforce-pods and pass elsewhere.",
		}, []string{"path", "cause"}),
		broadcaster: events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}),
	}
	r.events = r.broadcaster.NewRecorder(scheme.Scheme, userAgent)
	registry.MustRegister(r.decisions, r.durations, r.missed)
	return r
}

// run sends Events until ctx ends.
func (r *reporter) run(ctx context.Context) error {
	defer r.broadcaster.Shutdown()
	if err := r.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("sending events: %w", err)
	}
	<-ctx.Done()
	return nil
}

// report takes note of a decision.
func (r *reporter) report(ctx context.Context, record decide.Record, namespace *corev1.Namespace, took time.Duration) {
	r.decisions.WithLabelValues(record.Operation, string(record.Mode), string(record.Outcome), string(record.Reason())).Inc()
	r.durations.WithLabelValues(record.Operation).Observe(took.Seconds())
	if record.Outcome == decide.OutcomeIgnored {
		return
	}
	level := klog.Level(4)
	if len(record.Reasons) > 0 || record.Outcome == decide.OutcomeRefused {
		level = 2
	}
	klog.FromContext(ctx).V(int(level)).Info("Admission decision", "decision", record, "duration", took)
	if reason, tells := eventReason(record); tells && namespace != nil {
		// An Event about a namespace lands in "default" unless it says otherwise, where the
		// namespace's people do not look.
		about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, Namespace: namespace.Name, UID: namespace.UID}
		r.events.Eventf(about, subjectPod(record), corev1.EventTypeWarning, reason, actionAdmit, "%s", note(record))
	}
}

// unjudged takes note of a request that was not judged.
func (r *reporter) unjudged(path, cause string) { r.missed.WithLabelValues(path, cause).Inc() }

// eventReason says under which reason a decision is an Event, if it is one. Where the
// mode only observes it is none: who installs us is not to be flooded.
func eventReason(record decide.Record) (reason string, tells bool) {
	if record.DryRun || record.Mode == v1alpha1.ModeObserve || record.Mode == "" {
		return "", false
	}
	switch record.Reason() {
	case decide.ReasonQuotaExceeded:
		return v1alpha1.EventQuotaExceeded, true
	case decide.ReasonTeamMissing, decide.ReasonTeamUnknown, decide.ReasonOwnerMissing:
		return v1alpha1.EventOwnerMissing, true
	default:
		return "", false
	}
}

// subjectPod names the pod that a decision is about, without which all of a namespace's Events
// would be gathered under the first pod's; those that are made from one template still are.
func subjectPod(record decide.Record) *corev1.ObjectReference {
	pod := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: record.Namespace, Name: record.Name}
	if record.Reason() == decide.ReasonOwnerMissing {
		pod.FieldPath = fmt.Sprintf("metadata.labels{%s}", v1alpha1.LabelOwner)
	}
	return pod
}

func note(record decide.Record) string {
	text := record.Details
	if record.Name != "" {
		text = fmt.Sprintf("pod %s: %s", record.Name, text)
	}
	return cut(text)
}

func cut(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-3], "") + "..."
}

// configRejected tells of a configuration that is not in force.
func (r *reporter) configRejected(config *corev1.ConfigMap, err error) {
	r.events.Eventf(config, nil, corev1.EventTypeWarning, v1alpha1.EventConfigRejected, actionRead, "%s", cut("the last good configuration stays in force: "+err.Error()))
}
