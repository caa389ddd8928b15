package dcgm

import (
	"fmt"

	"wastenot.dev/telemetry/sample"
)

// maxProblems bounds what one batch reports, so that a body of garbage does not
// become a batch of garbage; the rest is counted.
const maxProblems = 32

// maxWhy bounds one explanation: a parser error can quote a whole label value.
const maxWhy = 200

// losses collects what could not be used of one body.
type losses struct {
	problems []sample.Problem
	more     int

	unreadable      int // lines that are neither a comment nor a metric
	firstUnreadable int
}

func (l *losses) add(where, why string) {
	if len(l.problems) >= maxProblems {
		l.more++
		return
	}
	l.problems = append(l.problems, sample.Problem{Where: clip(where), Why: clip(why)})
}

func (l *losses) addUnreadable(line int) {
	if l.unreadable == 0 {
		l.firstUnreadable = line
	}
	l.unreadable++
}

// result gives the problems, the counted ones last.
func (l *losses) result() []sample.Problem {
	problems := l.problems
	if l.unreadable > 0 {
		problems = append(problems, sample.Problem{
			Where: fmt.Sprintf("line %d", l.firstUnreadable),
			Why:   fmt.Sprintf("%d lines are no metrics; this is the first", l.unreadable),
		})
	}
	if l.more > 0 {
		problems = append(problems, sample.Problem{
			Where: "whole answer",
			Why:   fmt.Sprintf("%d more problems are not listed", l.more),
		})
	}
	return problems
}

func clip(text string) string {
	if len(text) <= maxWhy {
		return text
	}
	return text[:maxWhy] + "..."
}
