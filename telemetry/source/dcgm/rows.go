package dcgm

import (
	"fmt"
	"strings"
	"time"

	"wastenot.dev/telemetry/sample"
)

// wholeDevice is the partition number of a row that names no MIG instance.
const wholeDevice = -1

// skewAllowed is how far a row's time may be ahead of our clock without a problem
// being reported.
const skewAllowed = 5 * time.Second

// Times below this are taken for seconds, which is what OpenMetrics writes; as
// milliseconds they would be in 1973.
const secondsBelow = 100_000_000_000

// maxThings bounds how many devices, instances and holders one body may name. A
// node has tens of each.
const maxThings = 16_384

// rows gathers the readings of one body. Every row is filed under what it is
// about, so that a value that is said again replaces itself, and copies for
// several pods lie beside each other until they are merged.
type rows struct {
	origin Origin
	lost   *losses

	devices    []deviceRows
	byUUID     map[string]int
	byIndex    map[hostIndex]int
	partitions map[partitionKey]int
	owners     map[ownerKey]int
	values     map[valueKey]sample.Value

	host       string
	manyHosts  bool
	exported   bool // some row has exported_ labels
	things     int  // devices, partitions and owners so far
	crowded    int  // rows refused because there were too many things
	repeated   int  // series that came more than once
	stale      int  // readings older than the budget
	ahead      int  // readings timed after the fetch
	untimed    bool // some reading came without a time
	oldest     time.Time
	unlocated  int // readings that name no device
	misnamed   int // rows whose UUID is a MIG instance's, without its parent
	misnamedIs string
}

type deviceRows struct {
	sample.Device
	host    string
	virtual bool // copied for each virtual GPU, so values may differ per pod
	owners  []ownership
	parts   []partitionRows
}

type partitionRows struct {
	sample.Partition
	owners []ownership
}

type hostIndex struct{ host, index string }

type partitionKey struct {
	device int
	gi, ci string
}

type ownerKey struct {
	device, partition int
	owner             ownership
}

// valueKey is what makes two rows the same series for us. The name is part of it:
// one field may have two names.
type valueKey struct {
	name              string
	device, partition int
	owner             int
	virtualGPU        string
}

func newRows(origin Origin, lost *losses) *rows {
	return &rows{
		origin:     origin,
		lost:       lost,
		byUUID:     map[string]int{},
		byIndex:    map[hostIndex]int{},
		partitions: map[partitionKey]int{},
		owners:     map[ownerKey]int{},
		values:     map[valueKey]sample.Value{},
	}
}

// add files one reading. A field that the product does not use still says that
// its device is there.
func (r *rows) add(row reading) {
	labels := parseLabels(row.labels)
	spec, used := fieldSpecs[row.name]
	if !labels.located() {
		if used {
			r.unlocated++
		}
		return
	}
	device, partition, owner, fits := r.place(&labels)
	if !fits {
		return
	}
	if labels.virtualGPU != "" {
		r.devices[device].virtual = true
	}
	if !used || !r.observe(row.timestampMS) {
		return
	}
	value, plausible := spec.read(row.value)
	if !plausible {
		r.lost.add(fmt.Sprintf("%s of %s", row.name, name(&r.devices[device].Device)),
			fmt.Sprintf("%v is no possible value of it", row.value))
	}
	key := valueKey{name: row.name, device: device, partition: partition, owner: owner, virtualGPU: labels.virtualGPU}
	if _, again := r.values[key]; again {
		r.repeated++
	}
	r.values[key] = value
}

// place finds or makes the device, partition and owner that a row is about.
func (r *rows) place(labels *rowLabels) (device, partition, owner int, fits bool) {
	labels.splitLegacyUUID()
	if strings.HasPrefix(labels.uuid, "MIG-") {
		r.misnamed++
		r.misnamedIs = labels.uuid
		return 0, 0, 0, false
	}
	if r.things+3 > maxThings {
		r.crowded++
		return 0, 0, 0, false
	}
	device = r.device(labels)
	partition = r.partition(device, labels)
	return device, partition, r.owner(device, partition, labels.owner), true
}

// device finds or makes the device that a row is about. The UUID is the key; a
// body without UUIDs is told apart by host and index.
func (r *rows) device(labels *rowLabels) int {
	at := hostIndex{labels.host, labels.index}
	number, found := r.lookUp(labels.uuid, at)
	if !found {
		number = len(r.devices)
		r.devices = append(r.devices, deviceRows{host: labels.host})
		r.things++
		r.note(labels.host)
	}
	device := &r.devices[number]
	if labels.uuid != "" && device.UUID == "" {
		device.UUID = labels.uuid
		r.byUUID[labels.uuid] = number
	}
	if _, taken := r.byIndex[at]; !taken && labels.index != "" {
		r.byIndex[at] = number
	}
	device.describe(labels)
	return number
}

// lookUp finds a device by UUID, or by index where the row or the device has no
// UUID.
func (r *rows) lookUp(uuid string, at hostIndex) (int, bool) {
	if number, found := r.byUUID[uuid]; found && uuid != "" {
		return number, true
	}
	number, found := r.byIndex[at]
	if !found || at.index == "" {
		return 0, false
	}
	return number, uuid == "" || r.devices[number].UUID == ""
}

func (r *rows) note(host string) {
	switch {
	case host == "":
	case r.host == "":
		r.host = host
	case r.host != host:
		r.manyHosts = true
	}
}

func (d *deviceRows) describe(labels *rowLabels) {
	fill(&d.Index, labels.index)
	fill(&d.Model, labels.model)
	fill(&d.DriverVersion, labels.driver)
	if d.PCIBusID == "" && labels.pciBusID != "" {
		d.PCIBusID = sample.NormalizePCI(labels.pciBusID)
	}
}

func fill(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// partition finds or makes the MIG instance that a row is about.
func (r *rows) partition(device int, labels *rowLabels) int {
	if labels.instance == "" {
		return wholeDevice
	}
	key := partitionKey{device, labels.instance, labels.computeInst}
	parts := &r.devices[device].parts
	number, found := r.partitions[key]
	if !found {
		number = len(*parts)
		*parts = append(*parts, partitionRows{Partition: sample.Partition{GI: labels.instance, CI: labels.computeInst}})
		r.partitions[key] = number
		r.things++
	}
	fill(&(*parts)[number].Profile, labels.profile)
	fill(&(*parts)[number].UUID, labels.migUUID)
	return number
}

// owner numbers the distinct sets of pod labels on a device or partition.
func (r *rows) owner(device, partition int, owner ownership) int {
	r.exported = r.exported || owner.exportedSeen
	key := ownerKey{device, partition, owner}
	if number, found := r.owners[key]; found {
		return number
	}
	owners := &r.devices[device].owners
	if partition != wholeDevice {
		owners = &r.devices[device].parts[partition].owners
	}
	number := len(*owners)
	*owners = append(*owners, owner)
	r.owners[key] = number
	r.things++
	return number
}

// observe takes account of a reading's time and tells whether it is young enough
// to be believed. A time after the fetch means that clocks differ: the fetch is
// then the best that is known.
func (r *rows) observe(timestampMS *int64) bool {
	if timestampMS == nil {
		r.untimed = true
		return true
	}
	at := time.UnixMilli(*timestampMS)
	if *timestampMS < secondsBelow {
		at = time.Unix(*timestampMS, 0)
	}
	age := r.origin.FetchedAt.Sub(at)
	if r.origin.Budget > 0 && age > r.origin.Budget {
		r.stale++
		return false
	}
	if age < 0 {
		r.untimed = true
		at = r.origin.FetchedAt
	}
	if age < -skewAllowed {
		r.ahead++
	}
	if r.oldest.IsZero() || at.Before(r.oldest) {
		r.oldest = at
	}
	return true
}
