package policy

import "wastenot.dev/test/perf/timeslices/replay"

// shared takes the GPU with the fewest pods (spread, the "distributed" order of NVIDIA's
// device plugin) or the most (pack); the first of several.
type shared struct {
	*replay.GPUs

	most bool
}

func newSpread(g *replay.GPUs, _ uint64) replay.Policy { return &shared{GPUs: g} }
func newPack(g *replay.GPUs, _ uint64) replay.Policy   { return &shared{g, true} }

func (*shared) Changed(int) {}

func (s *shared) Place() (int, bool) {
	best := -1
	for gpu, pods := range s.Pods {
		if pods < s.Replicas && (best < 0 || s.most && pods > s.Pods[best] || !s.most && pods < s.Pods[best]) {
			best = gpu
		}
	}
	return best, best >= 0
}
