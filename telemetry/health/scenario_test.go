package health

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/telemetry/sample"
)

var rewrite = flag.Bool("rewrite", false, "write what the code does into the want lines of testdata")

// TestScenarios runs the scripts in testdata. A line is one of
//
//	# text                     a comment
//	policy NAME=VALUE ...      starts over with an override of the default policy
//	budget DURATION            how long later readings may be believed (default 30s)
//	at TIME NAME=VALUE ...     a reading; what is not named is unknown
//	from TIME to TIME every DURATION NAME=VALUE[+STEP] ...
//	                           many readings; STEP is added with each
//	look TIME                  no reading, only the clock
//	restart                    a new process starts from what a quarantine holds
//	want TEXT                  the verdict as of the last line
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding scenarios: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, want)
			if *rewrite {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the verdicts differ (-want +got); run with -rewrite if the code is right:\n%s", diff)
			}
		})
	}
}

// midnight is time 0 of every scenario.
var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// player is the state of one scenario.
type player struct {
	tracker *Tracker
	policy  *Policy
	budget  time.Duration
	now     time.Time
}

func play(t *testing.T, script []byte) []byte {
	t.Helper()
	policy := parsedPolicy(t, "")
	p := &player{policy: policy, tracker: NewTracker(policy), budget: 30 * time.Second, now: midnight}
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(script))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "want" {
			line = "want " + describe(p.tracker.Verdict(p.now))
		} else if err := p.step(t, words); err != nil {
			t.Fatalf("line %d: %q: %v", number, line, err)
		}
		fmt.Fprintln(&out, line)
	}
	return out.Bytes()
}

func (p *player) step(t *testing.T, words []string) error {
	t.Helper()
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	command, rest := words[0], words[1:]
	switch {
	case command == "policy":
		p.policy = parsedPolicy(t, strings.Join(rest, "\n"))
		p.tracker = NewTracker(p.policy)
		return nil
	case command == "budget" && len(rest) == 1:
		budget, err := time.ParseDuration(rest[0])
		p.budget = budget
		return err
	case command == "at" && len(rest) >= 1:
		return p.read(rest[0], rest[1:], 0)
	case command == "from" && len(rest) >= 5 && rest[1] == "to" && rest[3] == "every":
		return p.readMany(rest[0], rest[2], rest[4], rest[5:])
	case command == "look" && len(rest) == 1:
		return p.turn(rest[0])
	case command == "restart":
		verdict := p.tracker.Verdict(p.now)
		p.tracker = NewTracker(p.policy)
		for _, f := range verdict.Findings {
			p.tracker.Seed(Finding{Code: f.Code, Grade: f.Grade, Action: verdict.Action, Detail: f.Detail, Source: f.Source, FirstSeen: f.FirstSeen}, verdict.VendorExcludes)
		}
		return nil
	default:
		return fmt.Errorf("no such command")
	}
}

func (p *player) turn(to string) error {
	offset, err := time.ParseDuration(to)
	p.now = midnight.Add(offset)
	return err
}

func (p *player) readMany(from, to, every string, settings []string) error {
	var span [3]time.Duration
	for i, text := range []string{from, to, every} {
		var err error
		if span[i], err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	for n, offset := 0, span[0]; offset <= span[1]; n, offset = n+1, offset+span[2] {
		if err := p.read(offset.String(), settings, n); err != nil {
			return err
		}
	}
	return nil
}

// read gives the tracker the nth of a row of readings.
func (p *player) read(at string, settings []string, n int) error {
	if err := p.turn(at); err != nil {
		return err
	}
	var fields sample.Fields
	for _, setting := range settings {
		name, text, _ := strings.Cut(setting, "=")
		field, known := scriptFields[name]
		if !known {
			return fmt.Errorf("no field %q", name)
		}
		text, step, _ := strings.Cut(text, "+")
		start, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		if step != "" {
			each, err := strconv.ParseFloat(step, 64)
			if err != nil {
				return err
			}
			start += each * float64(n)
		}
		fields[field] = sample.Known(start)
	}
	p.tracker.Observe("dcgm", p.now, p.budget, &fields)
	return nil
}

var scriptFields = map[string]sample.Field{
	"xid":            sample.XID,
	"remap-failure":  sample.RowRemapFailure,
	"remap-pending":  sample.RowRemapPending,
	"double-bit":     sample.ECCDoubleBit,
	"clock-reasons":  sample.ClocksEventReasons,
	"thermal":        sample.ThermalViolation,
	"power":          sample.PowerViolation,
	"pcie-replays":   sample.PCIeReplays,
	"single-bit":     sample.ECCSingleBit,
	"uncorrectables": sample.UncorrectableRemaps,
}

// describe is the verdict in one line.
func describe(v Verdict) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, do %s", v.Grade, v.Action)
	for _, f := range v.Findings {
		fmt.Fprintf(&out, "; %s is %s from %s", f.Code, f.Grade, f.FirstSeen.Sub(midnight))
		if !f.CleanSince.IsZero() {
			fmt.Fprintf(&out, " and clean from %s", f.CleanSince.Sub(midnight))
		}
	}
	if v.OnProbation {
		out.WriteString("; on probation")
	}
	if v.VendorExcludes {
		out.WriteString("; the vendor excludes it")
	}
	if v.Why != "" {
		why := strings.ReplaceAll(v.Why, midnight.Format("2006-01-02")+"T", "")
		out.WriteString("; " + strings.TrimSuffix(why, "Z"))
	}
	return out.String()
}

// parsedPolicy reads a policy written as in a scenario: one "a.b=c" a line.
func parsedPolicy(t *testing.T, overrides string) *Policy {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(overrides) {
		path, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if code, isXID := strings.CutPrefix(path, "xid."); isXID {
			path, value = "xid", fmt.Sprintf("{%q: {grade: %s}}", code, value)
		}
		if parent, child, nested := strings.Cut(path, "."); nested {
			path, value = parent, fmt.Sprintf("{%s: %s}", child, value)
		}
		fmt.Fprintf(&text, "%s: %s\n", path, value)
	}
	policy, err := ParsePolicy([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
