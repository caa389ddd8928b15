package dcgm

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"wastenot.dev/telemetry/sample"
)

// recorder is a Sink that keeps what it is given, with the time since its start.
type recorder struct {
	start time.Time

	mu       sync.Mutex
	accepted map[string][]time.Duration // by endpoint
	failed   map[string][]time.Duration
}

func newRecorder() *recorder {
	return &recorder{start: time.Now(), accepted: map[string][]time.Duration{}, failed: map[string][]time.Duration{}}
}

func (r *recorder) Accept(batch sample.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted[batch.Endpoint] = append(r.accepted[batch.Endpoint], time.Since(r.start))
}

func (r *recorder) Failed(target Target, _ error, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[target.URL] = append(r.failed[target.URL], at.Sub(r.start))
}

// middle makes every random choice its middle: first reads after a twentieth of
// the interval, later ones an interval apart.
func middle() float64 { return 0.5 }

// run starts a runner inside a synctest bubble and gives the function that ends it
// and waits.
func run(t *testing.T, r *Runner) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

func targets(urls ...string) []Target {
	var list []Target
	for _, url := range urls {
		list = append(list, Target{URL: url})
	}
	return list
}

func echo(_ context.Context, target Target) (sample.Batch, error) {
	return sample.Batch{Endpoint: target.URL}, nil
}

func TestRunnerReadsEachTargetOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newRecorder()
		slow := func(ctx context.Context, target Target) (sample.Batch, error) {
			time.Sleep(4 * time.Second) // the bubble's clock: a read that takes 4 of 10 s
			return echo(ctx, target)
		}
		r := NewRunner(Config{Interval: 10 * time.Second}, slow, sink, clock.RealClock{}, middle)
		r.SetTargets(targets("a", "b"))
		stop := run(t, r)
		time.Sleep(25 * time.Second)
		stop()
		once := []time.Duration{4500 * time.Millisecond, 14500 * time.Millisecond, 24500 * time.Millisecond}
		if diff := cmp.Diff(map[string][]time.Duration{"a": once, "b": once}, sink.accepted); diff != "" {
			t.Errorf("reads differ (-want +got):\n%s", diff)
		}
	})
}

func TestRunnerVariesItsPaceByATenth(t *testing.T) {
	for random, want := range map[float64][]time.Duration{
		0:    {0, 9 * time.Second, 18 * time.Second},
		0.75: {750 * time.Millisecond, 11250 * time.Millisecond, 21750 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			sink := newRecorder()
			r := NewRunner(Config{Interval: 10 * time.Second}, echo, sink, clock.RealClock{}, func() float64 { return random })
			r.SetTargets(targets("a"))
			stop := run(t, r)
			time.Sleep(22 * time.Second)
			stop()
			if diff := cmp.Diff(want, sink.accepted["a"]); diff != "" {
				t.Errorf("with %v reads differ (-want +got):\n%s", random, diff)
			}
		})
	}
}

func TestRunnerFollowsChangesOfTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newRecorder()
		var mu sync.Mutex
		nodes := map[string][]string{}
		read := func(ctx context.Context, target Target) (sample.Batch, error) {
			mu.Lock()
			defer mu.Unlock()
			nodes[target.URL] = append(nodes[target.URL], target.Node)
			return echo(ctx, target)
		}
		r := NewRunner(Config{Interval: 10 * time.Second}, read, sink, clock.RealClock{}, middle)
		stop := run(t, r)
		time.Sleep(5 * time.Second) // nothing to do, and no harm done
		r.SetTargets(targets("stays", "goes"))
		time.Sleep(5 * time.Second)
		r.SetTargets([]Target{{URL: "stays"}, {URL: "comes"}, {URL: "comes", Node: "n"}, {URL: "comes"}})
		time.Sleep(10 * time.Second)
		r.SetTargets(nil)
		time.Sleep(time.Minute)
		stop()
		want := map[string][]time.Duration{
			"stays": {5500 * time.Millisecond, 15500 * time.Millisecond}, // at its pace through the change
			"goes":  {5500 * time.Millisecond},
			"comes": {10500 * time.Millisecond},
		}
		if diff := cmp.Diff(want, sink.accepted); diff != "" {
			t.Errorf("reads differ (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"n"}, nodes["comes"]); diff != "" {
			t.Errorf("nodes of the target given three times differ (-want +got):\n%s", diff)
		}
	})
}

func TestRunnerReportsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newRecorder()
		broken := func(context.Context, Target) (sample.Batch, error) {
			time.Sleep(2 * time.Second)
			return sample.Batch{}, errors.New("broken")
		}
		r := NewRunner(Config{Interval: 10 * time.Second}, broken, sink, clock.RealClock{}, middle)
		r.SetTargets(targets("a"))
		stop := run(t, r)
		time.Sleep(15 * time.Second)
		stop()
		want := []time.Duration{500 * time.Millisecond, 10500 * time.Millisecond}
		if diff := cmp.Diff(want, sink.failed["a"]); diff != "" {
			t.Errorf("times of failures differ, want when each read began (-want +got):\n%s", diff)
		}
		if len(sink.accepted) != 0 {
			t.Errorf("accepted = %v, want nothing", sink.accepted)
		}
	})
}

// A removed target and the end of the runner are no failures of the endpoint, and
// both end a read that hangs.
func TestRunnerEndsReadsQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newRecorder()
		hang := func(ctx context.Context, _ Target) (sample.Batch, error) {
			<-ctx.Done()
			return sample.Batch{}, ctx.Err()
		}
		r := NewRunner(Config{Interval: 10 * time.Second}, hang, sink, clock.RealClock{}, middle)
		r.SetTargets(targets("removed", "kept"))
		stop := run(t, r)
		time.Sleep(15 * time.Second)
		r.SetTargets(targets("kept"))
		synctest.Wait()
		stop()
		if len(sink.failed)+len(sink.accepted) != 0 {
			t.Errorf("failed %v, accepted %v; want neither", sink.failed, sink.accepted)
		}
	})
}

func TestRunReturnsAfterItsLastGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		stubborn := func(ctx context.Context, target Target) (sample.Batch, error) {
			time.Sleep(time.Minute) // whatever ctx says
			finished = true
			return echo(ctx, target)
		}
		r := NewRunner(Config{Interval: 10 * time.Second}, stubborn, newRecorder(), clock.RealClock{}, middle)
		r.SetTargets(targets("a"))
		stop := run(t, r)
		time.Sleep(time.Second)
		if stop(); !finished {
			t.Error("Run returned while a read was going on")
		}
	})
}

// events is a Sink that hands on what happens.
type events struct {
	accepted chan sample.Batch
	failed   chan Target
}

func (e *events) Accept(batch sample.Batch)                  { e.accepted <- batch }
func (e *events) Failed(target Target, _ error, _ time.Time) { e.failed <- target }

// Over real connections: while one endpoint hangs, the others are read again and
// again, and only it fails.
func TestAnEndpointThatHangsDelaysNoOther(t *testing.T) {
	hanging := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	hanging.Node = "hangs"
	well := serve(t, text(oneGPU))
	well.Node = "well"
	config := Config{Interval: 100 * time.Millisecond, Parallel: 1}
	scraper, err := NewScraper(config, nil, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	sink := &events{accepted: make(chan sample.Batch), failed: make(chan Target)}
	r := NewRunner(config, scraper.Scrape, sink, clock.RealClock{}, middle)
	r.SetTargets([]Target{hanging, well})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	reads, failures := 0, 0
	for reads < 3 || failures < 2 {
		select {
		case batch := <-sink.accepted:
			reads++
			if batch.Node != "well" {
				t.Errorf("a batch of %q, whose endpoint hangs", batch.Node)
			}
		case target := <-sink.failed:
			failures++
			if target != hanging {
				t.Errorf("the endpoint of %q failed, want only the one that hangs", target.Node)
			}
		}
	}
	cancel()
	for {
		select {
		case <-sink.accepted:
		case <-sink.failed:
		case <-ended:
			return
		}
	}
}
