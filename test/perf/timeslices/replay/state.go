package replay

// nowhere is the GPU of a pod that has none.
const nowhere = -1

// state is a run under way. The policy sees a copy of the GPUs, not those that count.
type state struct {
	*Experiment

	judge  GPUs
	seen   *GPUs
	policy Policy
	// gpu and busy are by pod.
	gpu  []int
	busy []bool

	counting          bool
	start, now        float64
	used, crowd, work float64
	out               Result
}

// until moves the time on and adds up what was until then.
func (s *state) until(now float64) {
	if s.counting {
		crowded, used := s.judge.crowded()
		busy := 0
		for _, pods := range s.judge.Busy {
			busy += pods
		}
		s.crowd += float64(crowded) * (now - s.now)
		s.work += float64(busy) * (now - s.now)
		s.used += float64(used) * (now - s.now)
	}
	s.now = now
}

func (s *state) happens(ev event) error {
	if ev.what == arrives {
		return s.arrive(ev.pod)
	}
	gpu := s.gpu[ev.pod]
	if gpu == nowhere {
		return nil
	}
	was := s.busy[ev.pod]
	switch ev.what {
	case flips:
		s.busy[ev.pod] = !was
		if was {
			s.judge.Busy[gpu]--
		} else {
			s.judge.Busy[gpu]++
		}
	case leaves:
		s.gpu[ev.pod] = nowhere
		s.judge.Pods[gpu]--
		if was {
			s.judge.Busy[gpu]--
		}
	}
	s.tell(gpu)
	return nil
}

func (s *state) arrive(pod int) error {
	if pod == s.Warm {
		s.counting, s.start = true, s.now
	}
	if s.counting {
		s.out.Arrived++
	}
	gpu, ok := s.policy.Place()
	if !ok {
		if s.judge.room() {
			return errRefused
		}
		return nil
	}
	if err := s.judge.take(gpu, s.Pods[pod].Busy); err != nil {
		return err
	}
	if s.counting {
		s.out.Accepted++
	}
	s.gpu[pod], s.busy[pod] = gpu, s.Pods[pod].Busy
	s.tell(gpu)
	return nil
}

// tell brings the policy's copy up to date.
func (s *state) tell(gpu int) {
	s.seen.Pods, s.seen.Busy = append(s.seen.Pods[:0], s.judge.Pods...), append(s.seen.Busy[:0], s.judge.Busy...)
	s.policy.Changed(gpu)
}

func (s *state) result() *Result {
	if lasted := s.now - s.start; s.counting && lasted > 0 {
		s.out.MeanUsed = s.used / lasted
	}
	if s.work > 0 {
		s.out.CrowdedPercent = 100 * s.crowd / s.work
	}
	r := s.out
	return &r
}
