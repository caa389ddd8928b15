package podrequest

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestAmounts: whatever a person writes, an amount is rounded up, is not below zero and
// ends where sums of it cannot overflow.
func TestAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ cpu, memory int64 }{
		"0":                    {0, 0},
		"-1":                   {0, 0},
		"-1e30":                {0, 0},
		"1n":                   {1, 1},
		"1m":                   {1, 1},
		"0.5":                  {500, 1},
		"1":                    {1000, 1},
		"1048576":              {1048576000, 1},
		"1048577":              {1048577000, 2},
		"2147483647":           {math.MaxInt32 * 1000, 2048},
		"2147483648":           {math.MaxInt32 * 1000, 2048},
		"1Ei":                  {math.MaxInt32 * 1000, math.MaxInt32},
		"9223372036854775807":  {math.MaxInt32 * 1000, math.MaxInt32},
		"9223372036854775808":  {math.MaxInt32 * 1000, math.MaxInt32},
		"1e18":                 {math.MaxInt32 * 1000, math.MaxInt32},
		"1e30":                 {math.MaxInt32 * 1000, math.MaxInt32},
		"2251799812636672":     {math.MaxInt32 * 1000, math.MaxInt32},
		"2251799812636673":     {math.MaxInt32 * 1000, math.MaxInt32},
		"2251799811588096":     {math.MaxInt32 * 1000, math.MaxInt32 - 1},
		"-9223372036854775808": {0, 0},
	} {
		amount := resource.MustParse(text)
		if cpu, memory := CPUMilli(amount), MemoryMiB(amount); cpu != want.cpu || memory != want.memory {
			t.Errorf("%s: %d thousandths and %d MiB, want %d and %d", text, cpu, memory, want.cpu, want.memory)
		}
	}
}
