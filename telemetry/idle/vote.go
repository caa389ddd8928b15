package idle

import "wastenot.dev/telemetry/sample"

// subsystem is the part of a device that a signal watches, and module the counter
// unit that measures it. A fault of one module silences all its signals together
// (dcgm-exporter#662), so agreement needs two.
type subsystem int

const (
	engine subsystem = 1 << iota
	memoryTraffic
	process
)

type module int

const (
	profiling module = 1 << iota
	nvml
)

// signal is one reading that can vote.
type signal struct {
	field     sample.Field
	subsystem subsystem
	module    module
	// underMIG tells that the reading is made per MIG instance.
	underMIG bool
}

var signals = []signal{
	{sample.EngineActive, engine, profiling, true},
	{sample.SMActive, engine, profiling, true},
	{sample.TensorActive, engine, profiling, true},
	{sample.DRAMActive, memoryTraffic, profiling, true},
	{sample.GPUUtil, engine, nvml, false},
	{sample.MemCopyUtil, memoryTraffic, nvml, false},
}

const (
	// busyAbove is the ratio above which a signal votes busy. A device without work
	// shows up to 0.00004 (captured).
	busyAbove = 0.01
	// noProcessBelow is the device memory below which no process holds a context. An
	// empty MIG instance shows 6 MiB (captured); a CUDA context takes over 100 MiB.
	noProcessBelow = 64 << 20
)

// Votes is what one pass of readings says about activity.
type Votes struct {
	// Busy tells that at least one signal shows work.
	Busy bool
	// Efficient is false when the engine is busy but no known signal of the SMs, the
	// tensor pipe or memory is.
	Efficient bool
	// Quiet tells that every known signal is quiet and at least two of them are
	// independent.
	Quiet bool
	// NoProcess tells that so little memory is in use that no process can hold a
	// context; ProcessKnown whether that could be read.
	NoProcess, ProcessKnown bool
}

// Vote reads the votes of one device, or of one MIG instance when mig is set.
func Vote(fields *sample.Fields, mig bool) Votes {
	votes := Votes{Efficient: true}
	var subsystems subsystem
	var modules module
	var engineBusy, workSeen, workKnown bool
	for _, s := range signals {
		number, known := fields[s.field].Get()
		if !known || (mig && !s.underMIG) {
			continue
		}
		busy := number > busyAbove
		votes.Busy = votes.Busy || busy
		subsystems |= s.subsystem
		modules |= s.module
		switch s.field {
		case sample.EngineActive, sample.GPUUtil:
			engineBusy = engineBusy || busy
		default:
			workKnown = true
			workSeen = workSeen || busy
		}
	}
	if used, known := fields[sample.FBUsed].Get(); known {
		votes.ProcessKnown, votes.NoProcess = true, used < noProcessBelow
		if votes.NoProcess {
			subsystems |= process
			modules |= nvml
		}
	}
	votes.Efficient = !engineBusy || !workKnown || workSeen
	votes.Quiet = !votes.Busy && count(int(subsystems)) >= 2 && count(int(modules)) >= 2
	return votes
}

func count(bits int) int {
	n := 0
	for ; bits != 0; bits &= bits - 1 {
		n++
	}
	return n
}
