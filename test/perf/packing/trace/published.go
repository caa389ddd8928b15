package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
)

// Published are the results that the authors of a protocol published for its workloads.
type Published struct {
	percents map[publishedKey][]float64
}

type publishedKey struct{ workload, policy string }

// PublishedFile is the path of the published results.
func PublishedFile(dir string) string { return filepath.Join(dir, "published-allocation.csv") }

// ReadPublished returns the results of a file, none where there is no such file.
func ReadPublished(path string) (*Published, error) {
	published := &Published{percents: map[publishedKey][]float64{}}
	err := readSheet(path, []string{"trace", "policy", "alloc_pct_at_130"}, func(r *record) {
		key := publishedKey{workload: r.text("trace"), policy: r.text("policy")}
		published.percents[key] = append(published.percents[key], r.percent("alloc_pct_at_130"))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return published, nil
	}
	if err != nil {
		return nil, err
	}
	return published, nil
}

// Mean is the published allocation in percent of the capacity at an arrived demand of
// 130 %, over all published seeds; ok is false where nothing was published.
func (p *Published) Mean(workload, policy string) (percent float64, ok bool) {
	percents := p.percents[publishedKey{workload: workload, policy: policy}]
	if len(percents) == 0 {
		return 0, false
	}
	var sum float64
	for _, percent := range percents {
		sum += percent
	}
	return sum / float64(len(percents)), true
}

// percent returns a number from 0 to 100.
func (r *record) percent(column string) float64 {
	text := r.optional(column)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= 100) {
		r.fault(column, text, fmt.Sprintf("give a number from %d to %d", 0, 100))
		return 0
	}
	return value
}
