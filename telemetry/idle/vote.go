package idle

import (
	"math/bits"

	"wastenot.dev/telemetry/sample"
)

// subsystem is the part of a device that a signal watches, and module the counter
// unit that measures it. A fault of one module silences all its signals together
// (dcgm-exporter#662), so agreement needs two.
type subsystem uint

const (
	engine subsystem = 1 << iota
	memoryTraffic
	process
)

type module uint

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
	// work tells that the reading shows work being done, not only that something runs.
	work bool
}

var signals = []signal{
	{field: sample.EngineActive, subsystem: engine, module: profiling, underMIG: true},
	{field: sample.SMActive, subsystem: engine, module: profiling, underMIG: true, work: true},
	{field: sample.TensorActive, subsystem: engine, module: profiling, underMIG: true, work: true},
	{field: sample.DRAMActive, subsystem: memoryTraffic, module: profiling, underMIG: true, work: true},
	{field: sample.GPUUtil, subsystem: engine, module: nvml},
	{field: sample.MemCopyUtil, subsystem: memoryTraffic, module: nvml, work: true},
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
	var seen ballot
	for i := range signals {
		if s := &signals[i]; s.underMIG || !mig {
			seen.count(s, fields[s.field])
		}
	}
	used, known := fields[sample.FBUsed].Get()
	votes := Votes{
		Busy: seen.engineBusy || seen.workBusy, Efficient: !seen.engineBusy || !seen.workKnown || seen.workBusy,
		ProcessKnown: known, NoProcess: known && used < noProcessBelow,
	}
	if votes.NoProcess {
		seen.subsystems |= process
		seen.modules |= nvml
	}
	votes.Quiet = !votes.Busy && bits.OnesCount(uint(seen.subsystems)) >= 2 && bits.OnesCount(uint(seen.modules)) >= 2
	return votes
}

// ballot gathers the signals of one pass.
type ballot struct {
	subsystems                      subsystem
	modules                         module
	engineBusy, workBusy, workKnown bool
}

func (b *ballot) count(s *signal, reading sample.Value) {
	number, known := reading.Get()
	if !known {
		return
	}
	b.subsystems |= s.subsystem
	b.modules |= s.module
	busy := number > busyAbove
	if s.work {
		b.workKnown = true
		b.workBusy = b.workBusy || busy
	} else {
		b.engineBusy = b.engineBusy || busy
	}
}
