package reserve

import (
	"context"
	"slices"

	"wastenot.dev/quota"
)

// line is who waits for a team's ledger. It exists while somebody has it.
type line struct{ waiting []*waiter }

// waiter is one call of Reserve.
type waiter struct {
	want   quota.Want
	answer chan answer
	// lead receives when the line is handed to this waiter.
	lead chan struct{}
	// gone tells that nobody waits any more; Desk.mu guards it.
	gone bool
}

type answer struct {
	verdict quota.Verdict
	err     error
}

// result is the answer, which came or did not come in time.
func (w *waiter) result() (quota.Verdict, error) {
	select {
	case a := <-w.answer:
		return a.verdict, a.err
	default:
		return quota.Verdict{}, ErrBusy
	}
}

// join lines the waiter up and tells whether it has the line.
func (d *Desk) join(team string, w *waiter) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, taken := d.lines[team]
	if !taken {
		l = &line{}
		d.lines[team] = l
	}
	l.waiting = append(l.waiting, w)
	return !taken
}

// serve decides about all who wait, the caller among them, and hands the line on, also
// when it panics.
func (d *Desk) serve(ctx context.Context, team string, self *waiter) {
	var undecided []*waiter
	defer func() { d.handOn(team, self, undecided) }()
	d.decide(ctx, team, &undecided)
}

func (d *Desk) take(team string) []*waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lines[team]
	batch := l.waiting
	l.waiting = nil
	return batch
}

// handOn gives the line to the next, the undecided first.
func (d *Desk) handOn(team string, self *waiter, rest []*waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	self.gone = true
	l := d.lines[team]
	l.waiting = slices.DeleteFunc(append(slices.Clone(rest), l.waiting...), func(w *waiter) bool { return w.gone })
	d.appoint(team, l)
}

// appoint hands the line to the first who waits, or ends it. d.mu must be held.
func (d *Desk) appoint(team string, l *line) {
	if len(l.waiting) == 0 {
		delete(d.lines, team)
		return
	}
	l.waiting[0].lead <- struct{}{}
}

// leave takes the waiter out. One that was handed the line meanwhile hands it on.
func (d *Desk) leave(team string, w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.gone = true
	l := d.lines[team]
	if l == nil {
		return
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
	select {
	case <-w.lead:
		d.appoint(team, l)
	default:
	}
}

// present is who still waits.
func (d *Desk) present(batch []*waiter) []*waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(batch), func(w *waiter) bool { return w.gone })
}

func answerAll(batch []*waiter, verdicts []quota.Verdict) {
	for i, w := range batch {
		w.answer <- answer{verdict: verdicts[i]}
	}
}

func failAll(batch []*waiter, err error) {
	for _, w := range batch {
		w.answer <- answer{err: err}
	}
}
