package quota

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
)

const (
	// wholeDevice is one device in millionths.
	wholeDevice = 1_000_000
	maxInt      = math.MaxInt64
)

// Weight is what one unit of the class counts as, in millionths of a device: what
// classes say; else, for a MIG instance, the greatest share that its profile has on
// any product, rounded down; else a whole device. So a time slice, a Neuron core, a DRA
// device and an unknown profile count as 1 until somebody says otherwise.
func Weight(class string, classes map[string]v1alpha1.AcceleratorClass) int64 {
	if entry, ok := classes[class]; ok {
		if micros, _ := microsOf(entry.Devices); micros > 0 {
			return micros
		}
		return wholeDevice
	}
	if profile := accelerator.ProfileOf(corev1.ResourceName(class)); profile != "" {
		if micros, ok := maxMIGShare(profile); ok && micros > 0 {
			return micros
		}
	}
	return wholeDevice
}

// Devices adds units by class up, in millionths of a device. A sum that does not fit is
// the greatest integer; counts below 0 are none.
func Devices(counts map[string]int64, classes map[string]v1alpha1.AcceleratorClass) int64 {
	var sum int64
	for class, count := range counts {
		sum = plus(sum, times(count, Weight(class, classes)))
	}
	return sum
}

// microsOf returns the amount in millionths, rounded down and saturating, and whether
// that is exactly the amount. (Quantity.ScaledValue returns 0 for what does not fit.)
func microsOf(amount resource.Quantity) (int64, bool) {
	copied := amount.DeepCopy()
	dec := copied.AsDec()
	unscaled, scale := new(big.Int).Set(dec.UnscaledBig()), int64(dec.Scale())
	const decimals, hopeless = 6, -24
	rest := new(big.Int)
	switch {
	case unscaled.Sign() == 0:
		return 0, true
	case scale < hopeless: // The number would fill the memory.
		return int64(unscaled.Sign()) * maxInt, false
	case scale <= decimals:
		unscaled.Mul(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals-scale), nil))
	default:
		unscaled.DivMod(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(scale-decimals), nil), rest)
	}
	switch {
	case unscaled.IsInt64():
		return unscaled.Int64(), rest.Sign() == 0
	case unscaled.Sign() < 0:
		return -maxInt, false
	default:
		return maxInt, false
	}
}

// plus adds what is not negative and saturates.
func plus(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > maxInt-b {
		return maxInt
	}
	return a + b
}

// times multiplies what is not negative and saturates.
func times(a, b int64) int64 {
	high, low := bits.Mul64(uint64(max(a, 0)), uint64(max(b, 0)))
	if high != 0 || low > maxInt {
		return maxInt
	}
	return int64(low)
}

// quantityOf is millionths of a device as the API has them.
func quantityOf(micros int64) *resource.Quantity {
	return resource.NewScaledQuantity(micros, resource.Micro)
}

// decimal is millionths as people read them, such as 7.5.
func decimal(micros int64) string {
	whole, rest := micros/wholeDevice, micros%wholeDevice
	text := strconv.FormatInt(whole, 10)
	if rest == 0 {
		return text
	}
	fraction := strconv.FormatInt(wholeDevice+rest, 10)[1:]
	return text + "." + strings.TrimRight(fraction, "0")
}
