package simnode

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// RunFor is a pod annotation with a duration, after which all containers exit
	// with code 0. Pods without it run until they are deleted.
	RunFor = "sim.wastenot.dev/run-for"
	// StopFor is a pod annotation with the duration that containers take to stop
	// once the pod is deleted, cut at its grace period. They keep their devices
	// meanwhile. Without it they stop at once.
	StopFor = "sim.wastenot.dev/stop-for"

	reasonInvalidAnnotation = "InvalidAnnotation"
)

// phase is how far a pod has come on its node.
type phase int

const (
	phaseRunning  phase = iota
	phaseStopping       // deletion was asked for; containers still run
	phaseRejected       // never ran
	phaseDone           // containers have ended and devices are free
)

// tracked is a pod that a node of the fleet has seen. revision and written count
// changes of what the status should say and how much of that the API has.
type tracked struct {
	pod       *corev1.Pod // newest version seen; read-only
	node      *member
	phase     phase
	plan      plan
	rejection *rejection
	address   string
	started   time.Time
	ended     time.Time
	endAt     time.Time // when containers end by themselves or have stopped; zero is never
	exitCode  int32
	record    []*Assignment

	revision, written int
	reported          bool // the Event of a rejection was sent
}

// observe is the informer's handler. It runs in the order of the watch and only
// decides; workers write what was decided.
func (f *Fleet) observe(pod *corev1.Pod) {
	f.mu.Lock()
	node := f.nodes[pod.Spec.NodeName]
	if node == nil {
		f.mu.Unlock()
		return
	}
	t, known := f.pods[pod.UID]
	if !known {
		t = f.track(node, pod)
	}
	t.pod = pod
	changed := !known && len(t.plan.grants) > 0
	if t.phase == phaseRunning && isTerminal(pod) {
		// Somebody else ended it, for instance the pod garbage collector.
		changed = f.end(t) || changed
		t.written = t.revision
	}
	if pod.DeletionTimestamp != nil {
		f.terminate(t)
	}
	f.mu.Unlock()

	f.queue.Add(item{kind: podItem, key: string(pod.UID)})
	if changed {
		f.onChange(pod.Spec.NodeName)
	}
}

// track decides on a pod that was not seen before. The caller holds the lock.
func (f *Fleet) track(node *member, pod *corev1.Pod) *tracked {
	t := &tracked{pod: pod, node: node, phase: phaseDone, address: node.address}
	f.pods[pod.UID] = t
	if isTerminal(pod) || pod.DeletionTimestamp != nil {
		return t // never ran here; there is nothing to say about it
	}
	p, rejected := node.plan(pod)
	if runFor, err := annotation(pod, RunFor); err != nil {
		rejected = &rejection{reason: reasonInvalidAnnotation, message: err.Error()}
	} else if _, err := annotation(pod, StopFor); err != nil {
		rejected = &rejection{reason: reasonInvalidAnnotation, message: err.Error()}
	} else if runFor > 0 {
		t.endAt = f.clock.Now().Add(runFor)
	}
	t.started, t.revision = f.clock.Now(), 1
	if rejected != nil {
		t.phase, t.rejection, t.ended, t.endAt = phaseRejected, rejected, t.started, time.Time{}
		return t
	}
	f.book(t, p)
	return t
}

// book makes a pod run with the devices of its plan. The caller holds the lock.
func (f *Fleet) book(t *tracked, p plan) {
	t.node.commit(p)
	t.phase, t.plan = phaseRunning, p
	if !t.pod.Spec.HostNetwork {
		f.nextIP++
		t.address = fmt.Sprintf("127.%d.%d.%d", 64+f.nextIP>>16&0x3f, f.nextIP>>8&0xff, f.nextIP&0xff)
	}
	for _, g := range p.grants {
		t.record = append(t.record, &Assignment{
			Pod: p.pod, Node: t.node.node.Name, Container: g.container,
			Resource: g.resource, IDs: g.ids, AdmittedAt: t.started,
		})
	}
	f.history = append(f.history, t.record...)
}

// terminate starts the end of a pod that is being deleted. The caller holds the lock.
func (f *Fleet) terminate(t *tracked) {
	if t.phase != phaseRunning {
		return
	}
	delay, _ := annotation(t.pod, StopFor) // was validated at admission
	if grace := t.pod.DeletionGracePeriodSeconds; grace != nil {
		delay = min(delay, time.Duration(*grace)*time.Second)
	}
	stopped := f.clock.Now().Add(delay)
	if !t.endAt.IsZero() && t.endAt.Before(stopped) {
		return // it completes before it would be stopped
	}
	t.phase, t.endAt, t.exitCode = phaseStopping, stopped, 143 // 128 + SIGTERM
}

// end stops the containers and frees the devices, and reports whether there were
// any. The caller holds the lock.
func (f *Fleet) end(t *tracked) (freed bool) {
	t.phase, t.ended = phaseDone, f.clock.Now()
	t.revision++
	for _, assignment := range t.record {
		assignment.ReleasedAt = t.ended
	}
	return t.node.release(t.pod.UID)
}

// forget is the informer's handler for pods that are gone, also by force.
func (f *Fleet) forget(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	f.mu.Lock()
	t, known := f.pods[pod.UID]
	freed := known && (t.phase == phaseRunning || t.phase == phaseStopping) && f.end(t)
	delete(f.pods, pod.UID)
	f.mu.Unlock()
	if freed {
		f.onChange(pod.Spec.NodeName)
	}
}

func isTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// annotation reads a duration; absent is 0.
func annotation(pod *corev1.Pod, key string) (time.Duration, error) {
	value, ok := pod.Annotations[key]
	if !ok {
		return 0, nil
	}
	duration, err := time.ParseDuration(value)
	if err == nil && duration < 0 {
		err = fmt.Errorf("negative duration %q", value)
	}
	if err != nil {
		return 0, fmt.Errorf("reading annotation %s: %w", key, err)
	}
	return duration, nil
}
