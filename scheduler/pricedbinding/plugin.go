package pricedbinding

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/pricing"
	"wastenot.dev/scheduler/pluginargs"
)

// Name is the plugin's name in a scheduler configuration.
const Name = "PricedBinding"

// Plugin binds accelerator pods with the price of their node.
type Plugin struct {
	*shared
	handle  fwk.Handle
	nodes   corelisters.NodeLister
	devices *devices
}

var (
	_ fwk.BindPlugin = &Plugin{}
	_ io.Closer      = &Plugin{}
)

// Name returns the plugin's name.
func (*Plugin) Name() string { return Name }

// Close ends the watches of the price book and the classes and waits for them.
func (p *Plugin) Close() error {
	p.close()
	return nil
}

// Factory makes the plugin for each profile that enables it. The profiles of one
// process share one price book.
type Factory struct {
	shared *shared
	args   v1alpha1.PricedBindingArgs
}

// New builds the plugin; it has the signature that kube-scheduler expects. It starts the
// watches of the price book and the quota configuration; they end with ctx or with Close.
func (f *Factory) New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := decodeArgs(object)
	if err != nil {
		return nil, err
	}
	if f.shared != nil && f.args != args {
		return nil, fmt.Errorf("plugin %s is configured differently in two profiles: give both the same args", Name)
	}
	if f.shared == nil {
		f.shared, f.args = newShared(ctx, handle.ClientSet(), args.Namespace), args
	}
	return &Plugin{
		shared: f.shared, handle: handle,
		nodes: handle.SharedInformerFactory().Core().V1().Nodes().Lister(), devices: newDevices(handle, f.shared.classes),
	}, nil
}

// decodeArgs reads the plugin's arguments strictly and sets defaults.
func decodeArgs(object runtime.Object) (v1alpha1.PricedBindingArgs, error) {
	var args v1alpha1.PricedBindingArgs
	if err := pluginargs.Decode(Name, object, &args); err != nil {
		return args, err
	}
	args.TypeMeta = metav1.TypeMeta{}
	if args.Namespace == "" {
		args.Namespace = v1alpha1.SystemNamespace
	}
	return args, nil
}

// Bind binds an accelerator pod and leaves others to the next binder.
func (p *Plugin) Bind(ctx context.Context, _ fwk.CycleState, pod *corev1.Pod, nodeName string) *fwk.Status {
	demands, err := p.devices.given(pod)
	if len(demands) == 0 && err == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Annotations: p.annotations(ctx, pod, nodeName, demands, err)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	if err := p.bind(ctx, binding); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}

// annotations prices the pod; unread says why a part of what it was given is not known.
func (p *Plugin) annotations(ctx context.Context, pod *corev1.Pod, nodeName string, demands []accelerator.Demand, unread error) map[string]string {
	book := p.book()
	node, err := p.nodes.Get(nodeName)
	if err != nil || unread != nil {
		// A node of which nothing is known has no price.
		node = &corev1.Node{}
		klog.FromContext(ctx).Info("A pod is bound without a price", "pod", klog.KObj(pod), "node", nodeName, "nodeError", err, "claimsError", unread)
	}
	annotations := book.Hourly(pricing.Option{Node: node, Wants: demands}, p.clock.Now()).Annotations(book)
	if was := pod.Annotations[v1alpha1.AnnotationCurrency]; was != "" && was != annotations[v1alpha1.AnnotationCurrency] {
		// The estimate was made in another currency, which its amounts do not name.
		for _, key := range []string{v1alpha1.AnnotationHourly, v1alpha1.AnnotationHourlyMin, v1alpha1.AnnotationHourlyMax} {
			annotations[key] = v1alpha1.Unknown
		}
	}
	klog.FromContext(ctx).V(4).Info("Pricing a binding", "pod", klog.KObj(pod), "node", nodeName, "demands", demands, "annotations", annotations)
	return annotations
}

// bind does what the default binder does.
func (p *Plugin) bind(ctx context.Context, binding *corev1.Binding) error {
	if cacher := p.handle.APICacher(); cacher != nil {
		finished, err := cacher.BindPod(binding)
		if err != nil {
			return err
		}
		return cacher.WaitOnFinish(ctx, finished)
	}
	return p.handle.ClientSet().CoreV1().Pods(binding.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
}
