package decide

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

const (
	// maxWarning is the longest warning in bytes: the API server cuts longer ones, and
	// where all of them are long, all of them.
	maxWarning = 256
	// warningPrefix tells whose warning it is.
	warningPrefix = "wastenot: "
)

// Warning makes a warning of a text, of a length that is shown whole.
func Warning(text string) string {
	// Nothing but the text may end up in an HTTP header.
	text = strings.Join(strings.Fields(warningPrefix+strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= maxWarning {
		return text
	}
	const more = "..."
	end := maxWarning - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// overText says what the team lacks, and what to do.
func (c Create) overText() string {
	text := fmt.Sprintf("team %s is over quota: %s", c.Owner.Team, c.Verdict)
	switch {
	case c.Waits() && c.Verdict.NeverFits():
		text += "; it can never fit, so it does not wait"
	case c.Waits():
		return text + "; the pod waits until it fits"
	}
	return fmt.Sprintf("%s%s; %s; free some, or ask %s to raise %s of the team in %s", text, c.cannotWait(), c.costs(),
		cmp.Or(c.Owner.TeamOwner, "who keeps it"), limitNames(c.Verdict), v1alpha1.QuotaConfigMap)
}

// costs is the clause about the price.
func (c Create) costs() string {
	if !c.Price.known() {
		return "its price is unknown"
	}
	return "this pod would cost " + c.Price.String()
}

func (c Create) busyText() string {
	return fmt.Sprintf("team %s has no room while other pods are being admitted: %s%s; try again", c.Owner.Team, c.Verdict, c.cannotWait())
}

// cannotWait is the clause that tells a team that queues why this pod does not.
func (c Create) cannotWait() string {
	if !c.Owner.Queues() || c.Waits() {
		return ""
	}
	return "; it cannot wait: " + c.passes()
}

// limitNames are the fields of the configuration that stand in the way.
func limitNames(verdict quota.Verdict) string {
	var classes, devices bool
	for _, shortage := range verdict.Shortages {
		classes, devices = classes || shortage.Class != quota.DevicesClass, devices || shortage.Class == quota.DevicesClass
	}
	switch {
	case classes && devices:
		return "limits"
	case devices:
		return "limits.devices"
	default:
		return "limits.classes"
	}
}
