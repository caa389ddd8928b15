package app

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"wastenot.dev/webhook/serve"
)

const manifests = "../../manifests/base"

func manifest(t testing.TB, name string) []runtime.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var objects []runtime.Object
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		objects = append(objects, object)
	}
}

func configurations(t testing.TB) (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	t.Helper()
	var mutating *admissionregistrationv1.MutatingWebhookConfiguration
	var validating *admissionregistrationv1.ValidatingWebhookConfiguration
	for _, object := range manifest(t, "webhook/configurations.yaml") {
		switch object := object.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			mutating = object
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			validating = object
		}
	}
	if mutating == nil || validating == nil {
		t.Fatal("configurations.yaml lacks a configuration")
	}
	return mutating, validating
}

// compile compiles conditions as the API server does.
func compile(t testing.TB, conditions []admissionregistrationv1.MatchCondition) matchconditions.Matcher {
	t.Helper()
	expressions := make([]cel.ExpressionAccessor, len(conditions))
	for i, c := range conditions {
		expressions[i] = &matchconditions.MatchCondition{Name: c.Name, Expression: c.Expression}
	}
	compiled := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())).CompileCondition(
		expressions, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
	fail := admissionregistrationv1.Fail
	return matchconditions.NewMatcher(compiled, &fail, "webhook", "validate", "test")
}

// matches evaluates conditions as the API server does.
func matches(t testing.TB, matcher matchconditions.Matcher, operation admission.Operation, object, old runtime.Object) (bool, error) {
	t.Helper()
	attributes := admission.NewAttributesRecord(object, old, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "name",
		corev1.SchemeGroupVersion.WithResource("pods"), "", operation, nil, false, &user.DefaultInfo{Name: "alice"})
	versioned := &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: corev1.SchemeGroupVersion.WithKind("Pod"),
		VersionedObject: admission.NewLazyObject(object), VersionedOldObject: admission.NewLazyObject(old),
	}
	result := matcher.Match(t.Context(), versioned, nil, nil)
	return result.Matches, result.Error
}

func podOf(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: corev1.PodSpec{Containers: containers}}
}

func requesting(names ...string) corev1.Container {
	list := corev1.ResourceList{}
	for _, name := range names {
		list[corev1.ResourceName(name)] = resource.MustParse("1")
	}
	return corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: list}}
}

func limited(name string) corev1.Container {
	return corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("1")}}}
}

func TestConditionsSendAcceleratorPodsAlone(t *testing.T) {
	many := make([]corev1.Container, 200)
	for i := range many {
		many[i] = requesting("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/something-with-a-rather-long-name")
		many[i].Name = fmt.Sprint("c", i)
	}
	initOnly := podOf(requesting("cpu"))
	initOnly.Spec.InitContainers = []corev1.Container{requesting("nvidia.com/gpu")}
	claiming := podOf(corev1.Container{Name: "main"})
	claiming.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"no resources":           {pod: podOf(corev1.Container{Name: "main"})},
		"no containers":          {pod: podOf()},
		"processor":              {pod: podOf(requesting("cpu", "memory"))},
		"other of NVIDIA":        {pod: podOf(requesting("nvidia.com/hostdev"))},
		"200 containers":         {pod: podOf(many...)},
		"gpu":                    {pod: podOf(requesting("cpu", "nvidia.com/gpu")), want: true},
		"shared gpu":             {pod: podOf(requesting("nvidia.com/gpu.shared")), want: true},
		"MIG":                    {pod: podOf(requesting("cpu"), requesting("nvidia.com/mig-1g.5gb")), want: true},
		"Neuron":                 {pod: podOf(requesting("aws.amazon.com/neuroncore")), want: true},
		"class as resource":      {pod: podOf(requesting("deviceclass.resource.kubernetes.io/gpu.nvidia.com")), want: true},
		"limit alone":            {pod: podOf(limited("nvidia.com/gpu")), want: true},
		"init container":         {pod: initOnly, want: true},
		"claim":                  {pod: claiming, want: true},
		"gpu in the last of 200": {pod: podOf(append(many[:199:199], limited("nvidia.com/gpu"))...), want: true},
	}
	mutating, validating := configurations(t)
	matchers := map[string]matchconditions.Matcher{
		"stamp": compile(t, mutating.Webhooks[0].MatchConditions), "enforce": compile(t, validating.Webhooks[0].MatchConditions), "observe": compile(t, validating.Webhooks[1].MatchConditions),
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for webhook, matcher := range matchers {
				got, err := matches(t, matcher, admission.Create, test.pod, nil)
				if err != nil || got != test.want {
					t.Errorf("%s: matches %v, error %v; want %v", webhook, got, err, test.want)
				}
			}
		})
	}
}

func TestConditionsSendChangesOfOurKeysAlone(t *testing.T) {
	pod := func(labels, annotations map[string]string) *corev1.Pod {
		p := podOf(requesting("cpu"))
		p.Labels, p.Annotations = labels, annotations
		return p
	}
	type m = map[string]string
	tests := map[string]struct {
		old, object *corev1.Pod
		want        bool
	}{
		"nothing there":                {old: pod(nil, nil), object: pod(nil, nil)},
		"others change":                {old: pod(m{"app": "a"}, m{"x": "1"}), object: pod(m{"app": "b"}, m{"y": "1"})},
		"ours stay":                    {old: pod(m{"wastenot.dev/team": "a"}, m{"cost.wastenot.dev/basis": "mig"}), object: pod(m{"wastenot.dev/team": "a", "b": "c"}, m{"cost.wastenot.dev/basis": "mig"})},
		"label changes":                {old: pod(m{"wastenot.dev/team": "a"}, nil), object: pod(m{"wastenot.dev/team": "b"}, nil), want: true},
		"label goes":                   {old: pod(m{"wastenot.dev/team": "a"}, nil), object: pod(nil, nil), want: true},
		"label comes":                  {old: pod(nil, nil), object: pod(m{"wastenot.dev/owner": "a"}, nil), want: true},
		"empty label comes":            {old: pod(nil, nil), object: pod(m{"wastenot.dev/owner": ""}, nil), want: true},
		"price changes":                {old: pod(nil, m{"cost.wastenot.dev/basis": "mig"}), object: pod(nil, m{"cost.wastenot.dev/basis": "dra"}), want: true},
		"price goes":                   {old: pod(nil, m{"cost.wastenot.dev/basis": "mig"}), object: pod(nil, m{"z": "1"}), want: true},
		"price comes":                  {old: pod(nil, m{"z": "1"}), object: pod(nil, m{"cost.wastenot.dev/bound-hourly": "1", "z": "1"}), want: true},
		"label of another like domain": {old: pod(nil, nil), object: pod(m{"notwastenot.dev/team": "a"}, nil)},
	}
	_, validating := configurations(t)
	matchers := map[string]matchconditions.Matcher{}
	for _, webhook := range validating.Webhooks[:2] {
		matchers[webhook.Name] = compile(t, webhook.MatchConditions)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for webhook, matcher := range matchers {
				got, err := matches(t, matcher, admission.Update, test.object, test.old)
				if err != nil || got != test.want {
					t.Errorf("%s: matches %v, error %v; want %v", webhook, got, err, test.want)
				}
			}
		})
	}
}

// TestConfigurationsFitTheServer: each webhook calls a path that is served, of the
// Service that the certificate is for, and only the one for enforcing namespaces fails
// closed.
func TestConfigurationsFitTheServer(t *testing.T) {
	mutating, validating := configurations(t)
	options := NewOptions()
	served := serve.Handlers(&serve.Pods{}, &serve.Configs{}, nil)
	wantPolicy := map[string]admissionregistrationv1.FailurePolicyType{"enforce.pods.wastenot.dev": admissionregistrationv1.Fail}
	check := func(name string, config admissionregistrationv1.WebhookClientConfig, policy *admissionregistrationv1.FailurePolicyType) {
		t.Helper()
		if _, ok := served[*config.Service.Path]; !ok {
			t.Errorf("%s calls %s, which is not served", name, *config.Service.Path)
		}
		if config.Service.Name != options.ServiceName || config.Service.Namespace != "wastenot-system" {
			t.Errorf("%s calls service %s/%s", name, config.Service.Namespace, config.Service.Name)
		}
		want := wantPolicy[name]
		if want == "" {
			want = admissionregistrationv1.Ignore
		}
		if *policy != want {
			t.Errorf("%s has failure policy %s, want %s", name, *policy, want)
		}
	}
	for _, w := range mutating.Webhooks {
		check(w.Name, w.ClientConfig, w.FailurePolicy)
	}
	for _, w := range validating.Webhooks {
		check(w.Name, w.ClientConfig, w.FailurePolicy)
	}
	if mutating.Name != options.ConfigurationName || validating.Name != options.ConfigurationName {
		t.Errorf("names %s and %s, want %s", mutating.Name, validating.Name, options.ConfigurationName)
	}
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
