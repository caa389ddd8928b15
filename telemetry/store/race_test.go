package store

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/sample"
)

// TestStoreIsSafeForConcurrentUse has everybody at it at once; the race detector and
// the readers' checks judge.
func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	const nodes, rounds = 8, 60
	f := newFixture(t)
	for n := range nodes {
		f.Place(fmt.Sprint("node-", n), "", nil)
	}
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for n := range nodes {
		name := fmt.Sprint("node-", n)
		writers.Go(func() {
			for round := range rounds {
				device := withXID(gpu(name, 0), float64(79*(round%2)))
				batch := f.batch(name, device, gpu("shared", 1), withInstances(gpu(name+"m", 2), instance("1", fmt.Sprint(round%3, "g.5gb"), 0)))
				_ = f.Accept(batch) // the shared device is refused to all but one
				f.Place(name, fmt.Sprint("pool-", round%2), map[string]string{"round": fmt.Sprint(round)})
				if round%20 == 19 {
					f.Remove(name)
					f.Place(name, "", nil)
				}
			}
		})
	}
	writers.Go(func() {
		for round := range rounds {
			f.clock.Step(time.Second)
			f.Tick()
			f.Seed("node-0", fmt.Sprint("GPU-seed-", round%5), "", []health.Finding{{Code: "XID79", Grade: failed}}, true)
			f.Dismiss(fmt.Sprint("GPU-seed-", (round+1)%5))
		}
	})
	for range 2 {
		readers.Go(func() {
			var last uint64
			for {
				changed := f.Changed()
				snapshot := f.Snapshot()
				if snapshot.Generation < last {
					t.Errorf("generation %d after %d", snapshot.Generation, last)
				}
				last = snapshot.Generation
				seen := map[string]string{}
				for name, node := range snapshot.Nodes {
					for i := range node.Devices {
						uuid := node.Devices[i].UUID
						if other, twice := seen[uuid]; twice {
							t.Errorf("device %s is on %s and %s", uuid, other, name)
						}
						seen[uuid] = name
					}
				}
				select {
				case <-stop:
					return
				case <-changed:
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

// large is a fleet of 1,000 nodes with 8 devices each.
func large(b *testing.B) (*fixture, []sample.Batch) {
	b.Helper()
	f := newFixture(b)
	batches := make([]sample.Batch, 1000)
	for n := range batches {
		name := fmt.Sprintf("node-%04d", n)
		f.Place(name, "pool", map[string]string{"zone": "z1"})
		devices := make([]sample.Device, 8)
		for i := range devices {
			devices[i] = heldBy(withBusy(gpu(fmt.Sprintf("%04d-%d", n, i), i)), fmt.Sprint("train-", n))
		}
		batches[n] = f.batch(name, devices...)
		f.read(name, devices...)
	}
	return f, batches
}

// BenchmarkAccept is one node's pass into a fleet of 1,000 nodes x 8 devices.
func BenchmarkAccept(b *testing.B) {
	for name, step := range map[string]time.Duration{
		"nothing new": 0,
		"every age":   budget,
	} {
		b.Run(name, func(b *testing.B) {
			f, batches := large(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				batch := batches[i%len(batches)]
				if step > 0 {
					batch.ObservedAt = midnight.Add(time.Duration(1+i/len(batches)) * step)
					f.clock.SetTime(batch.ObservedAt)
				}
				if err := f.Accept(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTick judges 1,000 nodes x 8 devices by the clock.
func BenchmarkTick(b *testing.B) {
	f, _ := large(b)
	b.ReportAllocs()
	for b.Loop() {
		f.Tick()
	}
}
