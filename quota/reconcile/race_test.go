package reconcile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"wastenot.dev/quota"
	"wastenot.dev/quota/reserve"
)

// live counts pods that are stored or about to be, exactly.
type live struct {
	mu        sync.Mutex
	now, most int64
	total     int
}

func (l *live) add(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now += n
	l.most = max(l.most, l.now)
	if n > 0 {
		l.total++
	}
}

// Three replicas admit, count and let pods come and go all at once, and the team never
// holds more than it may.
func TestReplicasTogetherKeepTheLimit(t *testing.T) {
	t.Parallel()
	const limit, clients, rounds = 8, 12, 8
	c := newCluster(t, clock.RealClock{})
	var pods live
	counting, stop := context.WithCancel(t.Context())
	var counters, creators sync.WaitGroup
	for replica := range 3 {
		ledgers, controller := c.replica(clock.RealClock{})
		desk := reserve.New(ledgers, controller, clock.RealClock{}, rand.Float64)
		counters.Go(func() {
			for counting.Err() == nil {
				if _, err := controller.Count(t.Context(), "vision"); err != nil && !retryable(err) {
					t.Error(err)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
		for client := range clients / 3 {
			creators.Go(func() {
				for round := range rounds {
					c.live(desk, &pods, fmt.Sprintf("pod-%d-%d-%d", replica, client, round))
				}
			})
		}
	}
	creators.Wait()
	stop()
	counters.Wait()
	if pods.most > limit {
		t.Errorf("the team held %d of %d", pods.most, limit)
	}
	if pods.total < clients/2 || pods.most < limit/2 {
		t.Errorf("only %d pods were let in, %d at once", pods.total, pods.most)
	}
	if got := c.count().Status; got.Committed[gpu] != 0 {
		t.Errorf("all pods are gone, and the ledger says %v", got)
	}
}

// live is a pod's life, if it is let in.
func (c *cluster) live(desk *reserve.Desk, pods *live, name string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	devices := 1 + rand.Int64N(3)
	verdict, err := desk.Reserve(ctx, "vision", quota.Want{UID: types.UID(name), Namespace: "train", Name: name, Demand: map[string]int64{gpu: devices}})
	if err != nil || !verdict.Admitted() {
		return
	}
	pods.add(devices)
	time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
	pod := newPod("train", name, devices, inPhase(corev1.PodRunning))
	client := c.client.CoreV1().Pods("train")
	if _, err := client.Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Error(err)
	}
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	pods.add(-devices)
	if err := client.Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Error(err)
	}
}
