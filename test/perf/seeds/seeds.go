package seeds

import (
	"fmt"
	"strconv"
	"strings"
)

// most keeps a slip of the pen from running for days.
const most = 1000

// Parse returns the seeds of a range first:last, both ends included, or the one that is
// given. The error names the flag.
func Parse(text string) ([]uint64, error) {
	from, to, ranged := strings.Cut(text, ":")
	if !ranged {
		to = from
	}
	first, err1 := strconv.ParseUint(from, 10, 64)
	last, err2 := strconv.ParseUint(to, 10, 64)
	if err1 != nil || err2 != nil || last < first || last-first >= most {
		return nil, fmt.Errorf("-seeds %q is no range: give one seed or first:last, such as 42:51, of at most %d", text, most)
	}
	seeds := make([]uint64, 0, last-first+1)
	for i := range last - first + 1 {
		seeds = append(seeds, first+i)
	}
	return seeds, nil
}
