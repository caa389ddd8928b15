package policy

import "math/rand/v2"

// orderStream sets the order of nodes apart from what else is drawn with the same seed.
const orderStream = 0x6f72646572

// tieOrder is the order in which a policy looks at n nodes, so that the first of equally
// scored ones wins: any order, but one for the whole run.
//
// The authors' scheduler gives a tie to the smallest name, and their simulator puts a
// random number before each name when a run begins
// (hkust-adsl/kubernetes-scheduler-simulator, syncClusterResourceList in
// pkg/simulator/simulator.go, and selectHost in their copy of
// vendor/k8s.io/kubernetes/pkg/scheduler/core/generic_scheduler.go).
func tieOrder(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, orderStream)).Perm(n)
}
