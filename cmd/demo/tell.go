package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// teller prints the story with the time since it began.
type teller struct {
	out   io.Writer
	began time.Time
}

func (t *teller) say(format string, args ...any) {
	fmt.Fprintf(t.out, "%6.1fs  %s\n", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// Write prints progress lines of others as part of the story.
func (t *teller) Write(text []byte) (int, error) {
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		t.say("%s", line)
	}
	return len(text), nil
}

// row is one line of the closing table.
type row struct {
	name, claim, measured string
	holds                 bool
}

// table prints the rows and tells whether all hold.
func table(out io.Writer, rows []row) bool {
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	all := true
	fmt.Fprintln(out)
	for _, r := range rows {
		mark := "ok  "
		if !r.holds {
			mark, all = "FAIL", false
		}
		fmt.Fprintf(out, "%s (%s) %s\n         %s\n", mark, r.name, r.claim, r.measured)
	}
	fmt.Fprintln(out)
	return all
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
