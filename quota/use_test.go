package quota

import (
	"fmt"
	"testing"
	"time"
)

func TestUseIsForPeople(t *testing.T) {
	t.Parallel()
	many := map[string]int64{}
	for i := range 12 {
		many[fmt.Sprintf("deviceclass.resource.kubernetes.io/c%02d", i)] = 1
	}
	tests := map[string]struct {
		limits string
		held   map[string]int64
		want   string
	}{
		"nothing is held":          {"{devices: 16, classes: {nvidia.com/gpu: 8}}", nil, "devices 0/16, nvidia.com/gpu 0/8"},
		"shares":                   {"{devices: 2.5}", map[string]int64{"nvidia.com/mig-1g.5gb": 7}, "devices 0.999999/2.5, nvidia.com/mig-1g.5gb 7"},
		"only classes are limited": {"{classes: {nvidia.com/gpu: 4}}", map[string]int64{"nvidia.com/gpu": 3}, "devices 3, nvidia.com/gpu 3/4"},
		"more than the limit":      {"{classes: {nvidia.com/gpu: 4}}", map[string]int64{"nvidia.com/gpu": 5}, "devices 5, nvidia.com/gpu 5/4"},
		"more classes than one line has room for": {"{devices: 100}", many, "devices 12/100" +
			", deviceclass.resource.kubernetes.io/c00 1, deviceclass.resource.kubernetes.io/c01 1, deviceclass.resource.kubernetes.io/c02 1" +
			", deviceclass.resource.kubernetes.io/c03 1, deviceclass.resource.kubernetes.io/c04 1, deviceclass.resource.kubernetes.io/c05 1" +
			", deviceclass.resource.kubernetes.io/c06 1, deviceclass.resource.kubernetes.io/c07 1, and 4 more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger, _ := Configure(nil, parsed(t, "teams: [{name: a, limits: "+test.limits+"}]"), "a")
			got := Reconcile(ledger, []Held{{UID: "p", Demand: test.held}}, nil, time.Now()).Status.Use
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
