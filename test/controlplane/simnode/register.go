package simnode

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
)

const (
	// The kubelet's defaults: the lease says that a node lives, its status is
	// repeated rarely.
	leaseDuration = 40 * time.Second
	leaseRenewal  = 10 * time.Second
	statusRenewal = 5 * time.Minute

	readyPoll = 50 * time.Millisecond
)

// register makes the Node objects, starts their heartbeats and waits until the
// node lifecycle controller has lifted the taint that every new node gets.
func (f *Fleet) register(ctx context.Context, nodes []Node) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(f.workers)
	for _, node := range nodes {
		group.Go(func() error {
			if err := f.registerOne(groupCtx, node); err != nil {
				return fmt.Errorf("registering node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, node := range nodes {
		f.queue.AddAfter(item{kind: leaseItem, key: node.Name}, leaseRenewal)
		f.queue.AddAfter(item{kind: nodeItem, key: node.Name}, statusRenewal)
	}
	return f.awaitSchedulable(ctx)
}

func (f *Fleet) registerOne(ctx context.Context, node Node) error {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: map[string]string{
			corev1.LabelHostname: node.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
		}},
		Spec:   corev1.NodeSpec{Taints: node.Taints},
		Status: f.nodeStatus(node.Name),
	}
	for key, value := range node.Labels {
		object.Labels[key] = value
	}
	_, err := f.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = f.takeOver(ctx, object)
	}
	if err != nil {
		return err
	}
	return f.renewLease(ctx, node.Name)
}

// takeOver updates a node that an earlier fleet left. Taints stay: by now some
// of them are the node lifecycle controller's.
func (f *Fleet) takeOver(ctx context.Context, node *corev1.Node) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": node.Labels}})
	if err != nil {
		return err
	}
	_, err = f.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return f.writeNode(ctx, node.Name)
}

// writeNode publishes the node's status and plans the next repetition.
func (f *Fleet) writeNode(ctx context.Context, name string) error {
	patch, err := json.Marshal(map[string]any{"status": f.nodeStatus(name)})
	if err != nil {
		return err
	}
	_, err = f.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("patching the status of node %s: %w", name, err)
	}
	f.queue.AddAfter(item{kind: nodeItem, key: name}, statusRenewal)
	return nil
}

// renewLease tells the node lifecycle controller that the node lives, and plans
// the next time.
func (f *Fleet) renewLease(ctx context.Context, name string) error {
	leases := f.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NewMicroTime(f.clock.Now())
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": now}})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       ptr.To(name),
				LeaseDurationSeconds: ptr.To(int32(leaseDuration.Seconds())),
				RenewTime:            &now,
			},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing the lease of node %s: %w", name, err)
	}
	f.queue.AddAfter(item{kind: leaseItem, key: name}, leaseRenewal)
	return nil
}

func (f *Fleet) awaitSchedulable(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		ready := 0
		for _, node := range list.Items {
			if f.nodes[node.Name] != nil && !isNotReady(&node) {
				ready++
			}
		}
		return ready == len(f.nodes), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the node lifecycle controller to accept the nodes: %w", err)
	}
	return nil
}

func isNotReady(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	return false
}

// nodeStatus is what the kubelet of the node would publish now.
func (f *Fleet) nodeStatus(name string) corev1.NodeStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	member := f.nodes[name]
	now := metav1.NewTime(f.clock.Now())
	condition := func(kind corev1.NodeConditionType, value corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: value, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: member.since(now)}
	}
	status := corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
			condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		},
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: member.address},
			{Type: corev1.NodeHostName, Address: name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: f.version, OperatingSystem: "linux", Architecture: runtime.GOARCH,
			ContainerRuntimeVersion: "sim://1.0.0", OSImage: "simnode", KernelVersion: "simnode",
		},
	}
	status.Capacity, status.Allocatable = member.capacity()
	return status
}

// since is when the node became ready: with its first status. The caller holds the lock.
func (m *member) since(now metav1.Time) metav1.Time {
	if m.ready.IsZero() {
		m.ready = now
	}
	return m.ready
}
