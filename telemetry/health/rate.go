package health

import (
	"time"

	"wastenot.dev/telemetry/sample"
)

// rateWindow is the least time over which growth is measured. Exporters are read more
// often than they collect, so that between two passes a counter stands still or grows
// by what belongs to several of them.
const rateWindow = time.Minute

// counted are the counters whose growth is judged.
var counted = []sample.Field{sample.PCIeReplays, sample.ThermalViolation}

// rates measures the growth of counters, window by window.
type rates map[sample.Field]*growth

type growth struct {
	// value and since begin the window that is being measured.
	value float64
	since time.Time
	// perSecond is the growth over the last whole window, if measured.
	perSecond float64
	measured  bool
	// fresh tells that the last pass had the counter.
	fresh bool
}

// observe takes one pass. A counter that fell was reset with the driver: what was
// measured of it no longer counts, and a new window begins.
func (r rates) observe(now time.Time, budget time.Duration, fields *sample.Fields) {
	window := max(rateWindow, budget/3)
	for _, field := range counted {
		number, known := fields[field].Get()
		g := r[field]
		switch {
		case g == nil && !known:
			continue
		case g == nil || (known && number < g.value):
			r[field] = &growth{value: number, since: now, fresh: true}
			continue
		}
		g.fresh = known
		if elapsed := now.Sub(g.since); known && elapsed >= window {
			*g = growth{value: number, since: now, perSecond: (number - g.value) / elapsed.Seconds(), measured: true, fresh: true}
		}
	}
}

// perSecond is the growth of the counter over the last whole window, unknown before
// there was one and when the last pass did not have the counter.
func (r rates) perSecond(field sample.Field) (float64, bool) {
	g := r[field]
	if g == nil || !g.fresh || !g.measured {
		return 0, false
	}
	return g.perSecond, true
}
