package idle

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/telemetry/sample"
)

type readings = map[sample.Field]float64

func row(values readings) *sample.Fields {
	var fields sample.Fields
	for field, value := range values {
		fields[field] = sample.Known(value)
	}
	return &fields
}

const mib = 1 << 20

func TestVote(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read readings
		mig  bool
		want Votes
	}{
		"nothing is known": {
			want: Votes{Efficient: true},
		},
		"engine busy": {
			read: readings{sample.EngineActive: 0.9},
			want: Votes{Busy: true, Efficient: true},
		},
		"one busy signal wins over all that are quiet": {
			read: readings{sample.EngineActive: 0, sample.SMActive: 0, sample.DRAMActive: 0, sample.GPUUtil: 0, sample.MemCopyUtil: 0.5, sample.FBUsed: 0},
			want: Votes{Busy: true, Efficient: true, ProcessKnown: true, NoProcess: true},
		},
		"noise of a device without work is quiet": {
			read: readings{sample.EngineActive: 0.00004, sample.DRAMActive: 0.00001, sample.GPUUtil: 0},
			want: Votes{Efficient: true, Quiet: true},
		},
		"just not busy": {
			read: readings{sample.GPUUtil: 0.01, sample.DRAMActive: 0.01},
			want: Votes{Efficient: true, Quiet: true},
		},
		"profiling alone cannot agree with itself: its module may be stuck at 0": {
			read: readings{sample.EngineActive: 0, sample.SMActive: 0, sample.TensorActive: 0, sample.DRAMActive: 0},
			want: Votes{Efficient: true},
		},
		"nor can the driver": {
			read: readings{sample.GPUUtil: 0, sample.MemCopyUtil: 0},
			want: Votes{Efficient: true},
		},
		"two modules that watch the same engines are one witness": {
			read: readings{sample.EngineActive: 0, sample.GPUUtil: 0},
			want: Votes{Efficient: true},
		},
		"engines by the driver and memory by profiling agree": {
			read: readings{sample.GPUUtil: 0, sample.DRAMActive: 0},
			want: Votes{Efficient: true, Quiet: true},
		},
		"engines by profiling and memory by the driver agree": {
			read: readings{sample.SMActive: 0, sample.MemCopyUtil: 0},
			want: Votes{Efficient: true, Quiet: true},
		},
		"engines by profiling and no process agree": {
			read: readings{sample.EngineActive: 0, sample.FBUsed: 6 * mib},
			want: Votes{Efficient: true, Quiet: true, NoProcess: true, ProcessKnown: true},
		},
		"memory that a process holds says nothing about idleness": {
			read: readings{sample.EngineActive: 0, sample.DRAMActive: 0, sample.FBUsed: 128 * mib},
			want: Votes{Efficient: true, ProcessKnown: true},
		},
		"64 MiB may be a process": {
			read: readings{sample.EngineActive: 0, sample.FBUsed: 64 * mib},
			want: Votes{Efficient: true, ProcessKnown: true},
		},
		"no process alone is one witness": {
			read: readings{sample.FBUsed: 0},
			want: Votes{Efficient: true, NoProcess: true, ProcessKnown: true},
		},
		"busy engines that do nothing": {
			read: readings{sample.GPUUtil: 1, sample.SMActive: 0.002, sample.DRAMActive: 0, sample.TensorActive: 0},
			want: Votes{Busy: true},
		},
		"busy engines and nobody knows what they do": {
			read: readings{sample.GPUUtil: 0.91, sample.FBUsed: 4000 * mib},
			want: Votes{Busy: true, Efficient: true, ProcessKnown: true},
		},
		"busy engines that move memory": {
			read: readings{sample.EngineActive: 0.5, sample.SMActive: 0, sample.DRAMActive: 0.2},
			want: Votes{Busy: true, Efficient: true},
		},
		"power and clocks have no vote": {
			read: readings{sample.Power: 115, sample.SMClock: 1.41e9, sample.Energy: 1e6},
			want: Votes{Efficient: true},
		},
		"under MIG utilisation has no vote, whatever it says": {
			read: readings{sample.GPUUtil: 1, sample.MemCopyUtil: 1}, mig: true,
			want: Votes{Efficient: true},
		},
		"under MIG its zero is no witness": {
			read: readings{sample.GPUUtil: 0, sample.MemCopyUtil: 0, sample.DRAMActive: 0, sample.EngineActive: 0}, mig: true,
			want: Votes{Efficient: true},
		},
		"an empty instance": {
			read: readings{sample.EngineActive: 0, sample.DRAMActive: 0, sample.FBUsed: 6 * mib}, mig: true,
			want: Votes{Efficient: true, Quiet: true, NoProcess: true, ProcessKnown: true},
		},
		"a busy instance": {
			read: readings{sample.EngineActive: 0.9999, sample.DRAMActive: 0.62, sample.FBUsed: 4384 * mib}, mig: true,
			want: Votes{Busy: true, Efficient: true, ProcessKnown: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Vote(row(test.read), test.mig)); diff != "" {
				t.Errorf("votes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVoteIsSoundForEveryRow tries rows of random readings against what votes mean.
func TestVoteIsSoundForEveryRow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		fields, mig := randomRow(random), random.IntN(2) == 0
		votes := Vote(&fields, mig)
		busy := false
		for _, s := range signals {
			number, known := fields[s.field].Get()
			busy = busy || (known && number > busyAbove && (s.underMIG || !mig))
		}
		if votes.Busy != busy {
			t.Fatalf("busy is %t, want %t: %v", votes.Busy, busy, fields)
		}
		if votes.Busy && votes.Quiet {
			t.Fatalf("busy and quiet at once: %v", fields)
		}
		if votes.Quiet && !agree(&fields, mig) {
			t.Fatalf("quiet without two independent signals: %v", fields)
		}
	}
}

// agree looks for two quiet signals that share neither subsystem nor module, pair by
// pair, which is what the rule means.
func agree(fields *sample.Fields, mig bool) bool {
	witnesses := []signal{}
	for _, s := range signals {
		if fields[s.field].IsKnown() && (s.underMIG || !mig) {
			witnesses = append(witnesses, s)
		}
	}
	if used, known := fields[sample.FBUsed].Get(); known && used < noProcessBelow {
		witnesses = append(witnesses, signal{subsystem: process, module: nvml})
	}
	for _, a := range witnesses {
		for _, b := range witnesses {
			if a.subsystem != b.subsystem && a.module != b.module {
				return true
			}
		}
	}
	return false
}

// randomRow leaves most readings unknown and makes most others quiet, so that all
// kinds of agreement come up.
func randomRow(random *rand.Rand) sample.Fields {
	var fields sample.Fields
	for _, s := range signals {
		switch random.IntN(5) {
		case 0, 1:
			fields[s.field] = sample.Known(0)
		case 2:
			fields[s.field] = sample.Known(random.Float64() / 20)
		}
	}
	switch random.IntN(3) {
	case 0:
		fields[sample.FBUsed] = sample.Known(6 * mib)
	case 1:
		fields[sample.FBUsed] = sample.Known(8000 * mib)
	}
	return fields
}
