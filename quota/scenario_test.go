package quota

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/api/v1alpha1"
)

var rewrite = flag.Bool("rewrite", false, "write what the code does into the want lines of testdata")

// TestScenarios runs the scripts in testdata, each about one team's ledger. A line is
// one of
//
//	# text                           a comment
//	config devices=N CLASS=N ... [class:CLASS=SHARE ...] [policy=POLICY]
//	                                 the team's limits, and what a unit of a class is
//	admit POD CLASS=N ...            a pod is created
//	check POD CLASS=N ...            a dry run of that
//	count [POD CLASS=N ... ; ...] [expired POD ...]
//	                                 the pods that exist are counted; expired are over
//	want TEXT                        the verdict, if there is one, and the ledger
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

// noon is when everything in the scenarios happens: the ledger does not care.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// player is the state of one scenario.
type player struct {
	ledger  *v1alpha1.QuotaLedger
	verdict *Verdict
}

func play(t *testing.T, script []byte) []byte {
	t.Helper()
	var p player
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(script))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == "want":
			line = "want " + p.describe()
		default:
			if err := p.step(words[0], words[1:]); err != nil {
				t.Fatalf("line %d: %q: %v", number, line, err)
			}
		}
		fmt.Fprintln(&out, line)
	}
	return out.Bytes()
}

func (p *player) step(command string, words []string) error {
	p.verdict = nil
	switch command {
	case "config":
		cfg, err := Parse(configOf(words))
		if err != nil {
			return err
		}
		p.ledger, _ = Configure(p.ledger, cfg, "vision")
		return nil
	case "admit", "check":
		want := Want{UID: types.UID(words[0]), Namespace: "ns", Name: words[0], Demand: countsOf(words[1:])}
		if command == "check" {
			v := Check(p.ledger, want)
			p.verdict = &v
			return nil
		}
		next, v := Admit(p.ledger, want, noon)
		p.ledger, p.verdict = next, &v
		return nil
	case "count":
		text, over, _ := strings.Cut(strings.Join(words, " "), "expired")
		var held []Held
		for entry := range strings.SplitSeq(text, ";") {
			if pod := strings.Fields(entry); len(pod) > 0 {
				held = append(held, Held{UID: types.UID(pod[0]), Demand: countsOf(pod[1:])})
			}
		}
		p.ledger = Reconcile(p.ledger, held, func(uid types.UID) bool { return slices.Contains(strings.Fields(over), string(uid)) }, noon)
		return nil
	default:
		return fmt.Errorf("no such command")
	}
}

// configOf is quota.yaml for a config line.
func configOf(words []string) []byte {
	var limits, units, classes, policy string
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		class, isClass := strings.CutPrefix(name, "class:")
		switch {
		case name == "devices":
			limits += "devices: " + value + ", "
		case name == "policy":
			policy = ", policy: " + value
		case isClass:
			classes += fmt.Sprintf("%s: {devices: %s}, ", class, value)
		default:
			units += fmt.Sprintf("%s: %s, ", name, value)
		}
	}
	return fmt.Appendf(nil, "teams: [{name: vision, limits: {%sclasses: {%s}}%s}]\nclasses: {%s}\n", limits, units, policy, classes)
}

func countsOf(words []string) map[string]int64 {
	counts := map[string]int64{}
	for _, word := range words {
		class, text, _ := strings.Cut(word, "=")
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err)
		}
		counts[class] = count
	}
	return counts
}

// describe is the verdict and the ledger in one line.
func (p *player) describe() string {
	var out strings.Builder
	if p.verdict != nil {
		out.WriteString(p.verdict.Outcome.String())
		if why := p.verdict.String(); why != "" {
			out.WriteString(": " + why)
		}
		out.WriteString(" | ")
	}
	out.WriteString("committed " + listed(p.ledger.Status.Committed))
	for _, r := range p.ledger.Status.Reservations {
		fmt.Fprintf(&out, ", %s reserved %s", r.UID, listed(r.Demand))
	}
	if p.ledger.Status.AsOf == nil {
		out.WriteString(", never counted")
	}
	if p.ledger.Status.Devices != nil {
		micros, _ := microsOf(*p.ledger.Status.Devices)
		out.WriteString(", in all " + decimal(micros))
	}
	return out.String()
}

func listed(counts map[string]int64) string {
	if len(counts) == 0 {
		return "nothing"
	}
	var words []string
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%d %s", counts[class], class))
	}
	return strings.Join(words, " + ")
}
