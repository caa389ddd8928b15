package pairs

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"
)

func run(podsPerSecond float64) Run { return Run{PodsPerSecond: podsPerSecond} }

func TestMedian(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   float64
	}{
		"one":           {[]float64{3}, 3},
		"odd, unsorted": {[]float64{9, 1, 4}, 4},
		"even":          {[]float64{4, 1, 2, 9}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := median(test.values); got != test.want {
				t.Errorf("median %v, want %v", got, test.want)
			}
		})
	}
}

func TestIntervalOfTheMedian(t *testing.T) {
	upTo := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i) // In falling order.
		}
		return values
	}
	// Ranks and confidences are those of the table in Conover's book.
	for n, want := range map[int]*Interval{
		1:  nil,
		2:  {Low: 1, High: 2, Confidence: 0.5},
		5:  {Low: 1, High: 5, Confidence: 0.9375},
		6:  {Low: 1, High: 6, Confidence: 0.96875},
		7:  {Low: 1, High: 7, Confidence: 0.984375},
		8:  {Low: 1, High: 8, Confidence: 0.9921875},
		9:  {Low: 2, High: 8, Confidence: 0.9609375},
		15: {Low: 4, High: 12, Confidence: 0.96484375},
		20: {Low: 6, High: 15, Confidence: 0.958610534667968},
	} {
		if diff := cmp.Diff(want, medianInterval(upTo(n)), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("of %d values (-want +got):\n%s", n, diff)
		}
	}
}

func TestSummaryIsOfCompletePairs(t *testing.T) {
	broken := Run{Err: errors.New("no etcd")}
	s := Series{Pairs: []Pair{
		{run(100), run(150)}, {run(200), broken}, {broken, run(1)}, {run(300), run(300)}, {run(100), run(120)},
	}}
	got, err := s.Summary()
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{Stock: 100, Ours: 150, Ratio: 1.2, Complete: 3, Interval: &Interval{Low: 1, High: 1.5, Confidence: 0.75}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if s.Failed() != 2 {
		t.Errorf("%d failed runs, want 2", s.Failed())
	}
	if got, err := (Series{Pairs: []Pair{{run(1), broken}}}).Summary(); err == nil {
		t.Errorf("no pair is complete, but there is a summary: %+v", got)
	}
}

func TestReport(t *testing.T) {
	r := Report{
		Conditions: []string{"2 cores"}, Wanted: 3,
		Series: []Series{
			{Workload: "gpu-1000/system", Pairs: []Pair{
				{Run{PodsPerSecond: 200, Batched: ptr.To(0.0)}, Run{PodsPerSecond: 100}}, {run(200), run(150)}, {run(201), Run{Err: errors.New("killed")}},
			}},
			{Workload: "dra-500/system", Pairs: []Pair{{run(60), Run{Err: errors.New("no result")}}}},
		},
	}
	var out strings.Builder
	if err := r.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	want := `* 2 cores

| workload | stock pods/s | ours pods/s | ours/stock | interval | batched stock/ours | pairs |
|---|---|---|---|---|---|---|
| gpu-1000/system | 200 | 125 | 0.62 | 0.50 to 0.75 (50.0 %) | 0 % / - | 2 of 3 |
| dra-500/system | failed | failed | failed | - | - | 0 of 3 |

Failed: gpu-1000/system, pair 3, ours: killed

Failed: dra-500/system, pair 1, ours: no result

All runs, in pods/s, stock/ours in the order of the pairs:

* gpu-1000/system: 200/100, 200/150, 201/failed
* dra-500/system: 60/failed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if r.Failed() != 2 {
		t.Errorf("%d failed runs, want 2", r.Failed())
	}
}

func TestBelowIsAProbability(t *testing.T) {
	for n := range 60 {
		if got := below(n, n+1); math.Abs(got-1) > 1e-9 {
			t.Errorf("P(Binomial(%d, 1/2) <= %d) is %v", n, n, got)
		}
	}
}
