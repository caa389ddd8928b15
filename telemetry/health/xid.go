package health

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"wastenot.dev/api/v1alpha1"
)

//go:embed xid.csv
var xidTable string

// XIDRule is what one XID code says about the device that reported it.
type XIDRule struct {
	Code   int
	Name   string
	Class  string
	Grade  v1alpha1.Grade
	Action v1alpha1.Action
	// PluginIgnores tells that NVIDIA's device plugin does nothing on this code; for
	// every other code it takes the device out of the node's allocatable.
	PluginIgnores bool
}

const xidPrefix = "XID"

// xidCode is the finding of an XID, such as XID79, and xidOf the XID of a finding.
func xidCode(code int) string { return xidPrefix + strconv.Itoa(code) }

func xidOf(finding string) (int, bool) {
	digits, found := strings.CutPrefix(finding, xidPrefix)
	code, err := strconv.Atoi(digits)
	return code, found && err == nil && code > 0
}

// loadXIDTable reads the embedded catalogue.
func loadXIDTable(text string) (map[int]XIDRule, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comment = '#'
	records, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the XID table: %w", err)
	}
	if len(records) == 0 || strings.Join(records[0], ",") != "code,name,class,grade,action,device_plugin_ignores" {
		return nil, fmt.Errorf("reading the XID table: unexpected header")
	}
	rules := make(map[int]XIDRule, len(records)-1)
	for _, r := range records[1:] {
		code, err := strconv.Atoi(r[0])
		if err != nil {
			return nil, fmt.Errorf("reading the XID table: code %q: %w", r[0], err)
		}
		rules[code] = XIDRule{
			Code: code, Name: r[1], Class: r[2], Grade: v1alpha1.Grade(r[3]), Action: v1alpha1.Action(r[4]), PluginIgnores: r[5] == "yes",
		}
	}
	return rules, nil
}

// rule returns what the policy says about the code. A code that is in no catalogue
// is never ignored.
func (p *Policy) rule(code int) XIDRule {
	if rule, ok := p.XID[code]; ok {
		return rule
	}
	return XIDRule{Code: code, Name: "code not in the catalogue", Class: "unknown", Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionContactSupport}
}
