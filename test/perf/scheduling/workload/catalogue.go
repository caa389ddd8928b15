package workload

import (
	"fmt"
	"regexp"
	"strings"
)

// Catalogue returns every workload, in the order in which they are run.
func Catalogue() []Workload {
	plain := Workload{Kind: Plain, Nodes: 1000, InitPods: 1000, Pods: 4000}
	gpu := Workload{Kind: GPU, Nodes: 1000, InitPods: 2000, Pods: 4000}
	mig, timeSlice, large, huge := gpu, gpu, gpu, plain
	mig.Kind, timeSlice.Kind, large.Nodes, huge.Nodes = MIG, Shared, 5000, 5000
	huge.Long = true
	return []Workload{
		plain.with(System), plain.with(None).brief(),
		gpu.with(System), gpu.with(None), gpu.with(Shipped).brief(),
		mig.with(System), mig.with(None),
		timeSlice.with(System), timeSlice.with(None),
		// Pods with claims are never batched.
		Workload{Kind: DRA, Nodes: 500, InitPods: 500, Pods: 1500}.with(System).brief(),
		large.with(System), large.with(None),
		huge.with(System),
	}
}

func (w Workload) with(c Constraints) Workload {
	w.Constraints = c
	return w
}

func (w Workload) brief() Workload {
	w.Brief = true
	return w
}

// Select returns the workloads whose names match the pattern anywhere. For "" it returns
// all that are not Long, or those that are Brief for a short run. A pattern that matches
// none is an error that lists what there is.
func Select(pattern string, short bool) ([]Workload, error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("reading the pattern of workloads: %w", err)
	}
	var chosen []Workload
	var names []string
	for _, w := range Catalogue() {
		names = append(names, w.Name())
		byDefault := (short && w.Brief) || (!short && !w.Long)
		if (pattern != "" || byDefault) && match.MatchString(w.Name()) {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no workload matches %q: there are %s", pattern, strings.Join(names, ", "))
	}
	return chosen, nil
}

// Named returns the workload of that very name.
func Named(name string) (Workload, error) {
	chosen, err := Select("^"+regexp.QuoteMeta(name)+"$", false)
	if err != nil {
		return Workload{}, err
	}
	return chosen[0], nil
}
