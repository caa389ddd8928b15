package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// workload has ten pods that ask for 4.6 devices together, in no order.
func workload() []Pod {
	pods := make([]Pod, 0, 10)
	for i := range 10 {
		pod := Pod{Name: fmt.Sprintf("p%d", 9-i), CPUMilli: int64(i)}
		if i > 0 {
			pod.GPUs, pod.GPUMilli = 1, int64(i)*100
		}
		pods = append(pods, pod)
	}
	pods[9].GPUMilli = 1000
	return pods
}

func TestTuneReachesTheDemand(t *testing.T) {
	t.Parallel()
	const capacity = 100_000
	arrivals := tuned(t, workload(), 42, 1.3, capacity)
	var requested int64
	for i := range arrivals {
		if requested >= 130_000 {
			t.Fatalf("arrival %d of %d comes after the demand was reached", i, len(arrivals))
		}
		requested += arrivals[i].RequestMilli()
	}
	if requested < 130_000 {
		t.Errorf("the arrivals ask for %d milli, want at least 130000", requested)
	}
}

func TestTuneFollowsTheSeed(t *testing.T) {
	t.Parallel()
	given := workload()
	first := tuned(t, given, 42, 1.3, 100_000)
	if diff := cmp.Diff(workload(), given); diff != "" {
		t.Errorf("the argument was changed: %s", diff)
	}
	if diff := cmp.Diff(first, tuned(t, given, 42, 1.3, 100_000)); diff != "" {
		t.Errorf("the same seed gives other arrivals: %s", diff)
	}
	slices.Reverse(given)
	if diff := cmp.Diff(first, tuned(t, given, 42, 1.3, 100_000)); diff != "" {
		t.Errorf("the order of the file changes the arrivals: %s", diff)
	}
	if cmp.Equal(first, tuned(t, given, 43, 1.3, 100_000)) {
		t.Error("another seed gives the same arrivals")
	}
}

// Every pod comes once, then copies that count from 1 by name.
func TestTuneNamesWhatIsDrawnAgain(t *testing.T) {
	t.Parallel()
	arrivals := tuned(t, workload(), 7, 1.3, 50_000)
	seen := map[string]int{}
	for i, pod := range arrivals {
		name, number, drawn := strings.Cut(pod.Name, "#")
		if drawn != (i >= 10) {
			t.Errorf("arrival %d is %s", i, pod.Name)
		}
		if drawn && number != fmt.Sprint(seen[name]) {
			t.Errorf("arrival %d is %s, want number %d", i, pod.Name, seen[name])
		}
		seen[name]++
	}
	if len(seen) != 10 {
		t.Errorf("%d pods came, want 10", len(seen))
	}
}

func TestTuneCutsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	arrivals := tuned(t, workload(), 42, 1, 2_000)
	var requested int64
	for i := range arrivals {
		requested += arrivals[i].RequestMilli()
	}
	last := arrivals[len(arrivals)-1].RequestMilli()
	if len(arrivals) >= 10 || requested < 2_000 || requested-last >= 2_000 {
		t.Errorf("%d arrivals ask for %d milli, the last for %d; want just 2000", len(arrivals), requested, last)
	}
}

func TestTuneNeedsDevices(t *testing.T) {
	t.Parallel()
	_, err := Tune([]Pod{{Name: "cpu"}}, 1, 1.3, 1000)
	wantWords(t, err, []string{"none asks for a device", "num_gpu"})
}

func tuned(t *testing.T, pods []Pod, seed uint64, ratio float64, capacity int64) []Pod {
	t.Helper()
	arrivals, err := Tune(pods, seed, ratio, capacity)
	if err != nil {
		t.Fatal(err)
	}
	return arrivals
}
