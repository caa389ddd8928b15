package dcgm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wastenot.dev/telemetry/sample"
)

// SourceName is the Source of every batch of this package.
const SourceName = "dcgm"

// Origin is what the caller knows about a body that the body does not say.
type Origin struct {
	// Endpoint is where the body came from, for messages.
	Endpoint string
	// Node is the Kubernetes node whose exporter it is. When it is empty the host
	// label is used instead, which is the node's name only if the exporter was told
	// so: without NODE_NAME it is the exporter's pod.
	Node string
	// FetchedAt is when the answer was asked for. Readings without a time of their
	// own were made at some time before it.
	FetchedAt time.Time
	// Budget is how old a reading may be (design D2). Readings that are older by
	// their own time are left Unknown; 0 keeps all.
	Budget time.Duration
}

// Read turns the body of one dcgm-exporter answer into a batch. It never fails:
// what cannot be used is in the batch's Problems, and a body without any device
// has a problem that says so, because an empty inventory is not a healthy one.
//
// Rules, with the captures that ask for them in testdata/corpus:
//
//   - A device is its UUID. MIG rows carry the parent's and are told apart by
//     GPU_I_ID (and GPU_CI_ID); rows about the whole GPU may lie beside them.
//   - Board readings (power, temperature, clocks, energy, PCIe, ECC, row remaps)
//     are stored on the device once. Where rows differ they were sampled at
//     different instants: the largest is kept (of free memory the smallest, of
//     clock event reasons the union), never a sum.
//   - Readings of one device copied for several pods are one value and several
//     holders. Where they differ, which the exporter's per-process mode does, the
//     largest is kept: any use is use, and one pod's share of it is not ours to
//     tell from these rows.
//   - XID is kept on the instance and on the device. A code on a whole-GPU row wins
//     over those of instances; among instances the highest is shown.
//   - GPU_UTIL and MEM_COPY_UTIL of a MIG device are Unknown: NVML does not support
//     them there and exporters have shown 0 (dcgm-exporter#430).
//   - Memory that is 0 used and 0 free is not measured, and Unknown.
//   - A series that comes twice counts once, the last one (two scrapes in a file).
func Read(body []byte, origin Origin) sample.Batch {
	var lost losses
	rows := newRows(origin, &lost)
	readExposition(body, &lost, rows.add)
	return rows.batch()
}

func (r *rows) batch() sample.Batch {
	r.fold()
	batch := sample.Batch{
		Source:          SourceName,
		Endpoint:        r.origin.Endpoint,
		Node:            r.node(),
		ObservedAt:      r.origin.FetchedAt,
		AgeIsLowerBound: r.untimed || r.oldest.IsZero(),
		Budget:          r.origin.Budget,
	}
	if !r.oldest.IsZero() {
		batch.ObservedAt = r.oldest
	}
	slices.SortStableFunc(r.devices, func(a, b deviceRows) int {
		return cmp.Or(strings.Compare(a.host, b.host), byNumber(a.Index, b.Index), strings.Compare(a.UUID, b.UUID))
	})
	for i := range r.devices {
		batch.Devices = append(batch.Devices, r.devices[i].device(r.exported))
	}
	settleEmpty(batch.Devices)
	r.report()
	batch.Problems = r.lost.result()
	return batch
}

func (r *rows) node() string {
	if r.origin.Node == "" && !r.manyHosts {
		return r.host
	}
	return r.origin.Node
}

// device gives the finished device. exported is as in ownership.resolve.
func (d *deviceRows) device(exported bool) sample.Device {
	device := d.Device
	device.Attribution, device.Holders = holders(d.owners, exported)
	device.MIG = len(d.parts) > 0
	slices.SortFunc(d.parts, func(a, b partitionRows) int {
		return cmp.Or(byNumber(a.GI, b.GI), byNumber(a.CI, b.CI))
	})
	for _, part := range d.parts {
		partition := part.Partition
		partition.Attribution, partition.Holders = holders(part.owners, exported)
		device.Partitions = append(device.Partitions, partition)
	}
	return device
}

// settleEmpty reads empty labels beside filled ones as what they are then: the exporter
// does know holders, and this thing has none as far as labels say. Alone they say
// nothing, for a pod may have got the device around the device plugin.
func settleEmpty(devices []sample.Device) {
	var empty []*sample.Attribution
	held := false
	note := func(a *sample.Attribution) {
		held = held || *a == sample.AttributionHeld
		if *a == sample.AttributionEmpty {
			empty = append(empty, a)
		}
	}
	for i := range devices {
		note(&devices[i].Attribution)
		for j := range devices[i].Partitions {
			note(&devices[i].Partitions[j].Attribution)
		}
	}
	if !held {
		return
	}
	for _, a := range empty {
		*a = sample.AttributionNone
	}
}

// holders makes one list of what the rows say about who holds a thing. Rows that
// name a holder win; rows that cannot tell win over rows that name nobody; rows
// with empty labels win over rows without.
func holders(owners []ownership, exported bool) (sample.Attribution, []sample.Holder) {
	if len(owners) == 0 {
		return sample.AttributionUnknown, nil
	}
	var list []sample.Holder
	seen := map[sample.Attribution]bool{}
	for _, owner := range owners {
		holder, attribution := owner.resolve(exported)
		seen[attribution] = true
		if attribution == sample.AttributionHeld {
			list = append(list, holder)
		}
	}
	slices.SortFunc(list, func(a, b sample.Holder) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod),
			strings.Compare(a.Container, b.Container), strings.Compare(a.Claim, b.Claim))
	})
	for _, attribution := range []sample.Attribution{
		sample.AttributionHeld, sample.AttributionUnknown, sample.AttributionEmpty,
	} {
		if seen[attribution] {
			return attribution, slices.Compact(list)
		}
	}
	return sample.AttributionNone, nil
}

// report adds the problems that are counted over the whole body.
func (r *rows) report() {
	for _, problem := range []struct {
		count int
		where string
		why   string
	}{
		{r.repeated, "series", "series came more than once; the last of each counts"},
		{r.stale, "timestamps", "readings are older than the freshness budget and unknown"},
		{r.ahead, "timestamps", "readings are timed after they were fetched; clocks differ"},
		{r.unlocated, "labels", "readings name no device, neither UUID nor gpu"},
		{r.crowded, "labels", "rows were left out, because the answer names too many devices and holders"},
		{r.misnamed, r.misnamedIs, "rows name a MIG instance as UUID and not its GPU"},
	} {
		if problem.count > 0 {
			r.lost.add(problem.where, fmt.Sprintf("%d %s", problem.count, problem.why))
		}
	}
	if r.manyHosts {
		r.lost.add("labels", "rows name several hosts; one answer should be about one node")
	}
	if len(r.devices) == 0 {
		r.lost.add("inventory", "no device in the answer, so nothing is known about the devices of this node")
	}
}

// name is how messages call a device.
func name(device *sample.Device) string {
	if device.UUID != "" {
		return device.UUID
	}
	return "gpu " + device.Index
}

// byNumber orders ids as numbers where they are numbers, before those that are
// not.
func byNumber(a, b string) int {
	x, xErr := strconv.Atoi(a)
	y, yErr := strconv.Atoi(b)
	switch {
	case xErr == nil && yErr == nil:
		return cmp.Compare(x, y)
	case xErr == nil:
		return -1
	case yErr == nil:
		return 1
	default:
		return strings.Compare(a, b)
	}
}
