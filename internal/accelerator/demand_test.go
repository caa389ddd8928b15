package accelerator

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// store holds claims, templates and classes by name.
type store struct {
	claims, templates map[string]resourceapi.ResourceClaimSpec
	// classes maps a DeviceClass to the extended resource that it stands for, or "".
	classes map[string]string
}

var errAbsent = errors.New("not found")

func (s store) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	spec, ok := s.claims[name]
	if !ok {
		return nil, errAbsent
	}
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, nil
}

func (s store) Template(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	spec, ok := s.templates[name]
	if !ok {
		return nil, errAbsent
	}
	return &resourceapi.ResourceClaimTemplate{Spec: resourceapi.ResourceClaimTemplateSpec{Spec: spec}}, nil
}

func (s store) Class(name string) (*resourceapi.DeviceClass, error) {
	extended, ok := s.classes[name]
	if !ok {
		return nil, errAbsent
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if extended != "" {
		class.Spec.ExtendedResourceName = &extended
	}
	return class, nil
}

// named knows the DeviceClasses of a configuration.
type named string

func (n named) Known(class string) bool { return class == ClassName(string(n)) }

func exactly(class string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}
}

func all(class string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll}}
}

func firstOf(subs ...resourceapi.DeviceSubRequest) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "r", FirstAvailable: subs}
}

func sub(name, class string, count int64) resourceapi.DeviceSubRequest {
	return resourceapi.DeviceSubRequest{Name: name, DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
}

func claimOf(requests ...resourceapi.DeviceRequest) resourceapi.ResourceClaimSpec {
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}}
}

func direct(name string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: "direct-" + name, ResourceClaimName: &name}
}

func template(name string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: "template-" + name, ResourceClaimTemplateName: &name}
}

func TestDemandOf(t *testing.T) {
	const (
		gpu = "nvidia.com/gpu"
		dra = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
	)
	objects := store{
		claims: map[string]resourceapi.ResourceClaimSpec{
			"two":   claimOf(exactly("gpu.nvidia.com", 2)),
			"made":  claimOf(exactly("gpu.nvidia.com", 3)),
			"nic":   claimOf(exactly("nic.example.com", 1)),
			"plain": claimOf(exactly("gpu.nvidia.com", 0)),
			"own":   claimOf(exactly("h100.example.com", 1)),
		},
		templates: map[string]resourceapi.ResourceClaimSpec{
			"one":         claimOf(exactly("gpu.nvidia.com", 1)),
			"all":         claimOf(all("gpu.nvidia.com")),
			"either":      claimOf(firstOf(sub("a", "gpu.nvidia.com", 4), sub("b", "gpu.nvidia.com", 1), sub("c", "mig.nvidia.com", 7))),
			"backed":      claimOf(exactly("backed.example.com", 1)),
			"uninstalled": claimOf(exactly("vfio.gpu.nvidia.com", 1)),
			"unknown":     claimOf(exactly("nobody.example.com", 1)),
			"hostile": claimOf(
				firstOf(sub("a", "gpu.nvidia.com", math.MaxInt64), sub("b", "gpu.nvidia.com", 8)),
				firstOf(sub("a", "gpu.nvidia.com", math.MaxInt64), sub("b", "gpu.nvidia.com", 8)),
				firstOf(sub("a", "gpu.nvidia.com", 3), sub("b", "gpu.nvidia.com", 1))),
			"two-kinds": claimOf(exactly("gpu.nvidia.com", 1), exactly("mig.nvidia.com", 2), exactly("gpu.nvidia.com", 1)),
		},
		classes: map[string]string{"gpu.nvidia.com": "", "mig.nvidia.com": "", "nic.example.com": "", "h100.example.com": "", "backed.example.com": gpu},
	}
	tests := map[string]struct {
		containers []corev1.Container
		claims     []corev1.PodResourceClaim
		statuses   []corev1.PodResourceClaimStatus
		known      Classes
		want       []Demand
		wantError  string
	}{
		"nothing":              {containers: []corev1.Container{container("cpu", 1)}, want: nil},
		"an extended resource": {containers: []corev1.Container{container(gpu, 2)}, want: []Demand{{Class: gpu, Kind: KindDevice, Count: 2}}},
		"a class as an extended resource": {
			containers: []corev1.Container{container(dra, 2)}, want: []Demand{{Class: dra, Kind: KindDRA, Count: 2}},
		},
		"a class that is no accelerator as an extended resource": {containers: []corev1.Container{container("deviceclass.resource.kubernetes.io/nic.example.com", 2)}},
		"a template":              {claims: []corev1.PodResourceClaim{template("one")}, want: []Demand{{Class: dra, Kind: KindDRA, Count: 1}}},
		"a claim":                 {claims: []corev1.PodResourceClaim{direct("two")}, want: []Demand{{Class: dra, Kind: KindDRA, Count: 2}}},
		"a claim without a count": {claims: []corev1.PodResourceClaim{direct("plain")}, want: []Demand{{Class: dra, Kind: KindDRA, Count: 1}}},
		"claims and containers add up": {
			containers: []corev1.Container{container(gpu, 1, dra, 1)}, claims: []corev1.PodResourceClaim{direct("two"), template("one")},
			want: []Demand{{Class: dra, Kind: KindDRA, Count: 4}, {Class: gpu, Kind: KindDevice, Count: 1}},
		},
		"the claim that was made counts instead of its template": {
			claims:   []corev1.PodResourceClaim{template("one")},
			statuses: []corev1.PodResourceClaimStatus{{Name: "template-one", ResourceClaimName: ptr.To("made")}},
			want:     []Demand{{Class: dra, Kind: KindDRA, Count: 3}},
		},
		"a made claim that is not seen yet": {
			claims:   []corev1.PodResourceClaim{template("one")},
			statuses: []corev1.PodResourceClaimStatus{{Name: "template-one", ResourceClaimName: ptr.To("new")}},
			want:     []Demand{{Class: dra, Kind: KindDRA, Count: 1}},
		},
		"all devices count as the most": {claims: []corev1.PodResourceClaim{template("all")}, want: []Demand{{Class: dra, Kind: KindDRA, Count: 32}}},
		"counts that would overflow":    {claims: []corev1.PodResourceClaim{template("hostile")}, want: []Demand{{Class: dra, Kind: KindDRA, Count: MaxUnits}}},
		"requests that would overflow": {
			containers: []corev1.Container{container(gpu, math.MaxInt64), container(gpu, math.MaxInt64), container(gpu, 3)},
			want:       []Demand{{Class: gpu, Kind: KindDevice, Count: MaxUnits}},
		},
		"of alternatives the most of each class": {
			claims: []corev1.PodResourceClaim{template("either")},
			want:   []Demand{{Class: dra, Kind: KindDRA, Count: 4}, {Class: ClassName("mig.nvidia.com"), Kind: KindDRA, Count: 7}},
		},
		"several requests": {
			claims: []corev1.PodResourceClaim{template("two-kinds")},
			want:   []Demand{{Class: dra, Kind: KindDRA, Count: 2}, {Class: ClassName("mig.nvidia.com"), Kind: KindDRA, Count: 2}},
		},
		"a class that stands for an extended resource": {claims: []corev1.PodResourceClaim{template("backed")}, want: []Demand{{Class: gpu, Kind: KindDevice, Count: 1}}},
		"a network card": {claims: []corev1.PodResourceClaim{direct("nic")}},
		"a class that nobody has called an accelerator": {claims: []corev1.PodResourceClaim{direct("own")}},
		"a class that the configuration names": {
			claims: []corev1.PodResourceClaim{direct("own")}, known: named("h100.example.com"),
			want: []Demand{{Class: ClassName("h100.example.com"), Kind: KindDRA, Count: 1}},
		},
		"a known class that is not installed": {
			claims: []corev1.PodResourceClaim{template("uninstalled")},
			want:   []Demand{{Class: ClassName("vfio.gpu.nvidia.com"), Kind: KindDRA, Count: 1}},
		},
		"an unknown class": {claims: []corev1.PodResourceClaim{template("unknown")}, wantError: "claim template-unknown: finding DeviceClass nobody.example.com"},
		"what is missing does not hide the rest": {
			containers: []corev1.Container{container(gpu, 1)}, claims: []corev1.PodResourceClaim{direct("absent"), template("one"), template("absent"), {Name: "empty"}},
			want:      []Demand{{Class: dra, Kind: KindDRA, Count: 1}, {Class: gpu, Kind: KindDevice, Count: 1}},
			wantError: "claim direct-absent: finding ResourceClaim absent: not found\nclaim template-absent: finding ResourceClaimTemplate absent: not found\nclaim empty names neither",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				Spec:   corev1.PodSpec{Containers: test.containers, ResourceClaims: test.claims},
				Status: corev1.PodStatus{ResourceClaimStatuses: test.statuses},
			}
			got, err := DemandOf(pod, objects, test.known)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("demand (-want +got):\n%s", diff)
			}
			if (err != nil) != (test.wantError != "") || (err != nil && !strings.Contains(err.Error(), test.wantError)) {
				t.Errorf("error %v, want one with %q", err, test.wantError)
			}
		})
	}
}

func TestDemandOfResult(t *testing.T) {
	objects := store{classes: map[string]string{"gpu.nvidia.com": "", "nic.example.com": ""}}
	exact := exactly("gpu.nvidia.com", 1)
	exact.Name = "gpu"
	choice := firstOf(sub("big", "gpu.nvidia.com", 1), sub("net", "nic.example.com", 1))
	choice.Name = "choice"
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: claimOf(exact, choice)}
	gpu := Demand{Class: ClassName("gpu.nvidia.com"), Kind: KindDRA}
	tests := map[string]struct {
		want      Demand
		wantOK    bool
		wantError bool
	}{
		"gpu":         {want: gpu, wantOK: true},
		"choice/big":  {want: gpu, wantOK: true},
		"choice/net":  {},
		"choice/none": {wantError: true},
		"other":       {wantError: true},
	}
	for request, test := range tests {
		t.Run(request, func(t *testing.T) {
			got, ok, err := DemandOfResult(claim, request, objects, nil)
			if got != test.want || ok != test.wantOK || (err != nil) != test.wantError {
				t.Errorf("got %+v, %t, %v, want %+v", got, ok, err, test)
			}
		})
	}
}

func TestIsClass(t *testing.T) {
	tests := map[string]bool{
		"nvidia.com/gpu": true, "nvidia.com/mig-1g.5gb": true, "aws.amazon.com/neuroncore": true,
		"deviceclass.resource.kubernetes.io/gpu.nvidia.com":                   true,
		"deviceclass.resource.kubernetes.io/h100.example.com":                 false,
		"deviceclass.resource.kubernetes.io/compute-domain-daemon.nvidia.com": false,
		"gpu.nvidia.com": false, "cpu": false, "nvidia.com/gpus": false, "": false,
	}
	for class, want := range tests {
		if got := IsClass(class); got != want {
			t.Errorf("%q: %t, want %t", class, got, want)
		}
	}
}
