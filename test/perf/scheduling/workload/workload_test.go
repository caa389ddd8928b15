package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func names(workloads []Workload) []string {
	var all []string
	for _, w := range workloads {
		all = append(all, w.Name())
	}
	return all
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Catalogue() {
		if seen[w.Name()] {
			t.Errorf("%s is there twice", w.Name())
		}
		seen[w.Name()] = true
		if got, err := Named(w.Name()); err != nil || got != w {
			t.Errorf("%s names %+v, %v", w.Name(), got, err)
		}
	}
}

func TestPodsFit(t *testing.T) {
	for _, full := range Catalogue() {
		for _, w := range []Workload{full, full.Short()} {
			_, units := w.Kind.Resource()
			if w.Kind == DRA {
				units = DevicesPerNode
			}
			if w.Kind == Plain {
				units = 110
			}
			if room := w.Nodes * units; w.InitPods+w.Pods >= room {
				t.Errorf("%s has %d pods for %d places", w.Name(), w.InitPods+w.Pods, room)
			}
		}
	}
}

func TestSelect(t *testing.T) {
	for name, test := range map[string]struct {
		pattern   string
		short     bool
		want      []string
		wantError bool
	}{
		"by part of the name":           {pattern: "^gpu-1000", want: []string{"gpu-1000/system", "gpu-1000/none", "gpu-1000/shipped"}},
		"a long one when asked for":     {pattern: "plain-5000", want: []string{"plain-5000/system"}},
		"one of each kind when short":   {short: true, want: []string{"plain-1000/none", "gpu-1000/shipped", "dra-500/system"}},
		"what is asked for, also short": {short: true, pattern: "^mig", want: []string{"mig-1000/system", "mig-1000/none"}},
		"none":                          {pattern: "tpu", wantError: true},
		"a pattern that cannot be read": {pattern: "(", wantError: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Select(test.pattern, test.short)
			if (err != nil) != test.wantError {
				t.Fatalf("error %v, want one: %v", err, test.wantError)
			}
			if diff := cmp.Diff(test.want, names(got)); diff != "" {
				t.Errorf("workloads (-want +got):\n%s", diff)
			}
		})
	}
	all, err := Select("", false)
	if err != nil || len(all) != len(Catalogue())-1 {
		t.Errorf("without a pattern there are %v, %v; want all but the long one", names(all), err)
	}
}

func TestBothSidesMeetTheSameOperations(t *testing.T) {
	for _, w := range Catalogue() {
		one, other := w.TestCase("templates", "stock.yaml"), w.TestCase("templates", "ours.yaml")
		one["schedulerConfigPath"] = other["schedulerConfigPath"]
		if diff := cmp.Diff(one, other); diff != "" {
			t.Errorf("%s differs in more than the scheduler's configuration:\n%s", w.Name(), diff)
		}
	}
}

func TestOnlyTheLastPodsAreMeasured(t *testing.T) {
	for _, w := range Catalogue() {
		operations := w.operations("templates")
		for i, operation := range operations {
			o, ok := operation.(map[string]any)
			if !ok {
				t.Fatalf("an operation of type %T", operation)
			}
			if measured := o["collectMetrics"] == true; measured != (i == len(operations)-1) {
				t.Errorf("%s, operation %d (%v): measured %v", w.Name(), i, o["opcode"], measured)
			}
		}
	}
}
