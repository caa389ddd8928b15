package packing

import (
	"cmp"
	"math/bits"
	"strings"
)

// Whole is all of a divisible device, in the thousandths in which shares of it count.
const Whole = 1000

// Request is what one pod asks of a node, as far as packing goes. Requests that are equal
// are placed alike, and are counted as one kind in a Mix.
type Request struct {
	// Kind is what is asked for, such as a resource name or a MIG profile: a name that
	// layouts serve. It is empty for a pod without accelerators.
	Kind string
	// Count is how many units of it; each comes from one device.
	Count int32
	// Milli is the share of a device that a unit takes, in thousandths, where the device
	// is divisible; Whole for all of it. Parts of other layouts have a size of their own.
	Milli int32
	// CPUMilli and MemoryMiB are what it takes of the machine.
	CPUMilli, MemoryMiB int64
	// Products are the products of which the node must have one, separated by "|";
	// empty is any.
	Products string
}

// accepts tells whether nodes with the product may take the request.
func (r *Request) accepts(product string) bool {
	if r.Products == "" {
		return true
	}
	for name := range strings.SplitSeq(r.Products, "|") {
		if name == product {
			return true
		}
	}
	return false
}

// Coarse returns the request with CPU and memory rounded down to four significant bits,
// an eighth at most. Pods that differ by less than that are of one kind: prices and the
// mix are kept for kinds, or the fleet would be priced anew for every pod. Whether a node
// has enough is always decided by the exact request.
func (r Request) Coarse() Request {
	r.CPUMilli, r.MemoryMiB = coarse(r.CPUMilli), coarse(r.MemoryMiB)
	return r
}

func coarse(n int64) int64 {
	if n <= 0 {
		return 0
	}
	const kept = 4
	drop := max(bits.Len64(uint64(n))-kept, 0)
	return n >> drop << drop
}

func compareRequests(a, b Request) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Milli, b.Milli),
		cmp.Compare(a.CPUMilli, b.CPUMilli), cmp.Compare(a.MemoryMiB, b.MemoryMiB), cmp.Compare(a.Products, b.Products),
	)
}
