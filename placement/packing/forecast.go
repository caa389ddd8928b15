package packing

const (
	// memoLimit is how many values a forecast remembers.
	memoLimit = 1 << 17
	// maxDevices is how many devices a node may have and still be valued.
	maxDevices = 64
)

// Forecast is what will probably be asked for, and so what nodes are worth. It is made
// for a mix and for the room that the fleet had for each kind of request. It is not safe
// for concurrent use.
type Forecast struct {
	items []item
	// churn is the share of what comes that goes again.
	churn   float64
	classes map[string]*class
	tables  map[*Layout]*table
	memo    map[string]int64

	// Scratch space of one call.
	key     []byte
	sorted  []state
	devices []Device
	options []option
	free    [maxDevices]uint64
	undo    [maxDevices]uint64
	table   [maxDevices]*table
}

// item is one kind of request, as the rollout reads it.
type item struct {
	request     Request
	cpu, memory int64
	count       int32
	// unit is what a unit takes of a divisible device.
	unit uint64
	rate float64
}

// NewForecast returns what the mix will ask of a fleet. Places says how often the fleet
// could take each item of the mix alone; it is as long as the mix.
//
// A kind of request reaches a node the more often, the fewer places there are for it:
// its weight is divided by them. So the last machine on which eight whole devices are
// free is kept for who needs eight, and one of a thousand is not.
func NewForecast(mix *Mix, places []int64) *Forecast { return newForecast(mix, places, 0) }

// newForecast is NewForecast for a fleet of which it is known how much of the devices is
// given back beside how much is taken: 0 where it only fills up, 1 where it stays as full
// as it is.
func newForecast(mix *Mix, places []int64, churn float64) *Forecast {
	f := &Forecast{churn: churn, classes: map[string]*class{}, tables: map[*Layout]*table{}, memo: map[string]int64{}}
	for i := range mix.Items {
		r := mix.Items[i].Request
		f.items = append(f.items, item{
			request: r, cpu: max(r.CPUMilli, 0), memory: max(r.MemoryMiB, 0), unit: uint64(max(r.Milli, 0)), count: max(r.Count, 0),
			rate: float64(mix.Items[i].Weight) / float64(max(places[i], 1)),
		})
	}
	return f
}

// Value is what the node would still take of what will probably be asked for, in
// thousandths of a device times Scale. Nodes that differ in the order of their devices
// only have one value.
func (f *Forecast) Value(n *Node) int64 {
	if len(f.items) == 0 || len(n.Devices) > maxDevices {
		return 0
	}
	f.sort(n)
	c := f.class(n)
	f.key = f.appendState(f.key[:0], n, c)
	if value, known := f.memo[string(f.key)]; known {
		return value
	}
	if len(f.memo) >= memoLimit {
		clear(f.memo)
	}
	key := string(f.key)
	value := f.rollOut(n, c)
	f.memo[key] = value
	return value
}

// Scale is what a thousandth of a device counts in values and prices.
const Scale = 480

// Mean turns a value or a price into thousandths of a device.
func Mean(value int64) int64 { return value / Scale }

func (f *Forecast) tableOf(l *Layout) *table {
	t, met := f.tables[l]
	if !met {
		t = newTable(len(f.tables), l, f.items)
		f.tables[l] = t
	}
	return t
}
