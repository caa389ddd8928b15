package table

import (
	"strings"
	"testing"
)

func TestPrintFaults(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := PrintFaults(&out, []*FaultLine{{Workload: "default", Policy: "fgd", Runs: []FaultRun{
		{Faults: 10, Without: 95, OnBadUnseen: 3, HealthyPercent: 94},
		{Faults: 20, Without: 96, OnBadUnseen: 4, OnBadSeen: 1, HealthyPercent: 95.5},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := "default fgd 2 15 95.50 3.5 0.5 94.75 +0.75"
	if got := strings.Join(strings.Fields(strings.Split(out.String(), "\n")[1]), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
