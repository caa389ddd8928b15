package liveconfig

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Data: data}
}

// number is a configuration that is one positive number.
func number(text []byte) (int, error) {
	n, err := strconv.Atoi(string(text))
	if err == nil && n <= 0 {
		return 0, errors.New("must be positive")
	}
	return n, err
}

// start runs a value until the test ends.
func start(t *testing.T, client kubernetes.Interface) *Value[int] {
	t.Helper()
	v := New(client, "ns", "c", "k", number, -1)
	run(t, v)
	return v
}

func run(t *testing.T, v *Value[int]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := v.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	eventually(t, "it is synced", v.Synced)
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestLastGoodStays(t *testing.T) {
	client := fake.NewClientset(configMap(map[string]string{"k": "1"}))
	v := start(t, client)
	if v.Current() != 1 || v.Err() != nil || len(v.Hash()) != 12 {
		t.Fatalf("value %d, error %v, hash %q", v.Current(), v.Err(), v.Hash())
	}
	first := v.Hash()
	steps := []struct {
		name      string
		data      map[string]string
		want      int
		wantError string
	}{
		{name: "a text that does not parse", data: map[string]string{"k": "x"}, want: 1, wantError: "config map ns/c, k: strconv.Atoi"},
		{name: "a value that is not allowed", data: map[string]string{"k": "-5"}, want: 1, wantError: "must be positive"},
		{name: "no key", data: nil, want: 1, wantError: "has no key k"},
		{name: "another good one", data: map[string]string{"k": "2"}, want: 2},
		{name: "bad after the second", data: map[string]string{"k": ""}, want: 2, wantError: "k: strconv.Atoi"},
		{name: "the first again", data: map[string]string{"k": "1"}, want: 1},
	}
	for _, step := range steps {
		if _, err := client.CoreV1().ConfigMaps("ns").Update(t.Context(), configMap(step.data), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, step.name, func() bool {
			err := v.Err()
			return v.Current() == step.want && (err == nil) == (step.wantError == "") && (err == nil || strings.Contains(err.Error(), step.wantError))
		})
	}
	if v.Hash() != first {
		t.Errorf("the same text has hashes %s and %s", first, v.Hash())
	}
	if err := client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its absence is noticed", func() bool { return v.Err() != nil })
	if v.Current() != 1 {
		t.Errorf("after the deletion %d is in force, want the last good 1", v.Current())
	}
}

func TestWithoutConfigMapTheInitialValueIsInForce(t *testing.T) {
	v := start(t, fake.NewClientset())
	if v.Current() != -1 || v.Hash() != "" {
		t.Errorf("value %d, hash %q, want the initial one", v.Current(), v.Hash())
	}
	if err := v.Err(); err == nil || !strings.Contains(err.Error(), "there is no config map ns/c") {
		t.Errorf("error %v", err)
	}
}

func TestChangesAndFaultsAreToldOnce(t *testing.T) {
	client := fake.NewClientset(configMap(map[string]string{"k": "1"}))
	v := New(client, "ns", "c", "k", number, -1)
	var mu sync.Mutex
	var told []string
	tell := func(text string) { mu.Lock(); told = append(told, text); mu.Unlock() }
	v.OnChange(func(old, current int) { tell(strconv.Itoa(old) + " to " + strconv.Itoa(current)) })
	v.OnError(func(object *corev1.ConfigMap, _ error) { tell(object.Name + " is bad") })
	run(t, v)
	for _, change := range []struct{ text, label string }{{text: "x"}, {text: "x", label: "touched"}, {text: "2"}, {text: "2", label: "touched"}} {
		object := configMap(map[string]string{"k": change.text})
		object.Labels = map[string]string{"l": change.label}
		if _, err := client.CoreV1().ConfigMaps("ns").Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		// The watch of the fake client may merge what comes at once.
		eventually(t, change.text+" was seen", func() bool {
			seen, found := v.find()
			return found && seen.Data["k"] == change.text && seen.Labels["l"] == change.label && (v.Err() != nil) == (change.text == "x")
		})
	}
	mu.Lock()
	defer mu.Unlock()
	if got, want := strings.Join(told, ", "), "-1 to 1, c is bad, 1 to 2"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
