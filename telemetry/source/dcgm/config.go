package dcgm

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Defaults of Config. The exporter's own default collect interval is 30 s.
const (
	DefaultSourceInterval = 30 * time.Second
	DefaultInterval       = 10 * time.Second
	DefaultMaxTimeout     = 10 * time.Second
	DefaultMaxBodyBytes   = 16 << 20
)

// minBudget is the least freshness budget (design D2).
const minBudget = 30 * time.Second

// Config says how endpoints are read. A field left 0 takes its default.
type Config struct {
	// SourceInterval is how often the exporter collects, its --collect-interval.
	// A shorter one than the exporter's makes readings expire too early.
	SourceInterval time.Duration
	// Interval is how often each endpoint is read.
	Interval time.Duration
	// Timeout bounds one read; the default is the lesser of Interval and 10 s.
	Timeout time.Duration
	// MaxBodyBytes bounds an answer, after decompression. A larger one is refused
	// as a whole.
	MaxBodyBytes int64
	// Parallel bounds how many answers are turned into batches at once; the default
	// is GOMAXPROCS. Waiting for an endpoint takes no such place, so endpoints that
	// hang cannot keep others from being read.
	Parallel int
}

// WithDefaults fills what is 0.
func (c Config) WithDefaults() Config {
	c.SourceInterval = orDefault(c.SourceInterval, DefaultSourceInterval)
	c.Interval = orDefault(c.Interval, DefaultInterval)
	c.Timeout = orDefault(c.Timeout, min(c.Interval, DefaultMaxTimeout))
	c.MaxBodyBytes = orDefault(c.MaxBodyBytes, DefaultMaxBodyBytes)
	c.Parallel = orDefault(c.Parallel, runtime.GOMAXPROCS(0))
	return c
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Validate returns every fault of the configuration, each named by its field.
func (c Config) Validate() error {
	full := c.WithDefaults()
	var faults []error
	for _, setting := range []struct {
		field string
		value int64
	}{
		{"sourceInterval", int64(full.SourceInterval)},
		{"interval", int64(full.Interval)},
		{"timeout", int64(full.Timeout)},
		{"maxBodyBytes", full.MaxBodyBytes},
		{"parallel", int64(full.Parallel)},
	} {
		if setting.value < 0 {
			faults = append(faults, fmt.Errorf("%s: must not be negative", setting.field))
		}
	}
	if full.Interval > 0 && full.Timeout > full.Interval {
		faults = append(faults, fmt.Errorf("timeout: %s is longer than the interval of %s", full.Timeout, full.Interval))
	}
	return errors.Join(faults...)
}

// Budget is how long a reading may be believed after it was observed: the larger
// of 30 s and three times the sum of both intervals (design D2).
func (c Config) Budget() time.Duration {
	full := c.WithDefaults()
	return max(minBudget, 3*(full.SourceInterval+full.Interval))
}
