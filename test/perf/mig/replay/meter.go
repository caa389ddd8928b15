package replay

import "wastenot.dev/test/perf/mig/fleet"

// meter adds up a result once the warm arrivals are over.
type meter struct {
	*Experiment

	Result

	counting              bool
	start, now            float64
	used, slices          int
	usedTime, slicesTimes float64
}

func newMeter(e *Experiment) *meter {
	return &meter{Experiment: e, Result: Result{ByProfile: make([]int, len(e.Geometry.Profiles))}}
}

// until moves the time on.
func (m *meter) until(now float64) {
	if m.counting {
		m.usedTime += float64(m.used) * (now - m.now)
		m.slicesTimes += float64(m.slices) * (now - m.now)
	}
	m.now = now
}

func (m *meter) arrived(i int) {
	if i == m.Warm {
		m.counting, m.start = true, m.now
	}
	if m.counting {
		m.Arrived++
	}
}

func (m *meter) accepted(_, profile int) {
	if m.counting {
		m.Accepted++
		m.ByProfile[profile]++
	}
}

// took notes that the fleet has so many instances of the profile more.
func (m *meter) took(f *fleet.Fleet, profile, count int) {
	m.used = f.Used()
	m.slices += count * m.Geometry.Profiles[profile].Size
}

func (m *meter) result() *Result {
	if lasted := m.now - m.start; m.counting && lasted > 0 {
		m.MeanUsed, m.MeanSlices = m.usedTime/lasted, m.slicesTimes/lasted
	}
	r := m.Result
	return &r
}
