//go:build integration

package controlplane_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/test/controlplane"
	"wastenot.dev/test/controlplane/simnode"
)

const (
	fleetNodes   = 30
	gpusPerNode  = 8
	envIsVictim  = "WASTENOT_TEST_VICTIM"
	victimPrefix = "victim runs "
)

// TestFullFleet fills every device of a fleet and empties it again. It logs how
// long that took and judges only what happened.
func TestFullFleet(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cluster, err := controlplane.Start(ctx, controlplane.Options{Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	began := time.Now()
	lap := func(what string) {
		t.Logf("%s: %s", what, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	fleet, err := simnode.Start(ctx, cluster.Config(), gpuNodes(fleetNodes, gpusPerNode), simnode.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Stop)
	lap(fmt.Sprintf("%d nodes schedulable", fleetNodes))

	s := &suite{Cluster: cluster, fleet: fleet}
	inParallel(t, func(i int) error { return s.create(ctx, fmt.Sprintf("pod-%d", i), "1") })
	lap("pods created")
	inParallel(t, func(i int) error {
		return s.bind(ctx, fmt.Sprintf("pod-%d", i), fmt.Sprintf("node-%d", i%fleetNodes))
	})
	lap("pods bound")
	await(ctx, t, "all pods to run", func(ctx context.Context) (bool, error) {
		pods, err := cluster.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		return err == nil && len(pods.Items) == fleetNodes*gpusPerNode, err
	})
	lap("pods running")
	given := map[string]string{}
	for _, assignment := range fleet.Assignments() {
		for _, id := range assignment.IDs {
			if other, twice := given[id]; twice {
				t.Errorf("device %s was given to %s and %s", id, other, assignment.Pod.Name)
			}
			given[id] = assignment.Pod.Name
		}
	}
	if len(given) != fleetNodes*gpusPerNode {
		t.Errorf("%d devices were given out, want all %d", len(given), fleetNodes*gpusPerNode)
	}

	err = cluster.Client().CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "all pods to go", func(ctx context.Context) (bool, error) {
		pods, err := cluster.Client().CoreV1().Pods(corev1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
	lap("pods gone")
}

// inParallel calls do for every device of the fleet.
func inParallel(t *testing.T, do func(i int) error) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for i := range fleetNodes * gpusPerNode {
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestNoOrphan kills a process that runs a control plane and waits for the
// control plane to end with it.
func TestNoOrphan(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	victim := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestVictim$", "-test.v")
	victim.Env = append(os.Environ(), envIsVictim+"=yes")
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var url, dir string
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), victimPrefix); ok {
			url, dir, _ = strings.Cut(rest, " ")
		}
	}
	if url == "" {
		t.Fatal("the victim starts no control plane")
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // was killed
	await(ctx, t, "the control plane to end", func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(url, "https:", "http:", 1), nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			return false, answer.Body.Close() // it speaks, if only to refuse plain HTTP
		}
		return true, nil
	})
	await(ctx, t, "its files to go", func(context.Context) (bool, error) {
		_, err := os.Stat(dir)
		return os.IsNotExist(err), nil
	})
}

// TestVictim is the process that TestNoOrphan kills; by itself it does nothing.
func TestVictim(t *testing.T) {
	if os.Getenv(envIsVictim) == "" {
		t.Skip("runs as a child of TestNoOrphan")
	}
	cluster, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s%s %s\n", victimPrefix, cluster.Config().Host, cluster.Dir())
	<-cluster.Done()
}
