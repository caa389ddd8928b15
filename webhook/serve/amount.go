package serve

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"wastenot.dev/internal/accelerator"
)

const (
	// maxExponent is the largest power of ten that a quantity is reckoned with. To add or
	// compare 1e99999999 takes minutes.
	maxExponent = 30
)

// ask finds out what the pod asks for; nothing, without an error, for a pod that is none
// of ours.
func (p *Pods) ask(ctx context.Context, r *request) {
	if r.demandErr = immense(r.pod); r.demandErr != nil {
		return
	}
	r.demand, r.demandErr = accelerator.DemandOf(r.pod, p.Objects.Claims(ctx), p.Config())
	if r.demandErr == nil {
		r.demandErr = overflow(r.pod, r.demand)
	}
	r.record.Demand = accelerator.Counts(r.demand)
}

// overflow names an amount that cannot be counted.
func overflow(pod *corev1.Pod, demand []accelerator.Demand) error {
	for _, d := range demand {
		if d.Count <= 0 || d.Count >= accelerator.MaxUnits {
			return fmt.Errorf("no node can have the amount of %s that it asks for", d.Class)
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name, quantity := range containers[i].Resources.Requests {
				if accelerator.KindOf(name) != accelerator.KindNone && quantity.Sign() < 0 {
					return fmt.Errorf("no node can have the amount of %s that container %s asks for", name, containers[i].Name)
				}
			}
		}
	}
	return nil
}

// immense names an amount that must not even be added up, in a pod that asks for
// accelerators.
func immense(pod *corev1.Pod) error {
	ours := len(pod.Spec.ResourceClaims) > 0
	var err error
	look := func(list corev1.ResourceList) {
		for name, quantity := range list {
			ours = ours || accelerator.KindOf(name) != accelerator.KindNone
			if exponent(quantity) > maxExponent {
				err = fmt.Errorf("no node can have the amount of %s that it asks for", name)
			}
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			look(containers[i].Resources.Requests)
			look(containers[i].Resources.Limits)
		}
	}
	look(pod.Spec.Overhead)
	if whole := pod.Spec.Resources; whole != nil {
		look(whole.Requests)
		look(whole.Limits)
	}
	if !ours {
		return nil
	}
	return err
}

// exponent is the power of ten by which the digits of the quantity are multiplied.
func exponent(quantity resource.Quantity) int { return -int(quantity.AsDec().Scale()) }
