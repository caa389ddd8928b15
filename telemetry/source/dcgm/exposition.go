package dcgm

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// familyPrefix is what every field that dcgm-exporter serves begins with. Its
// DCGM_EXP_ counters, which count over a window of their own, are not read.
const familyPrefix = "DCGM_FI_"

// maxRun bounds how many lines are parsed at once: it is what a broken line makes
// us parse again, and how much of a body is in memory as parsed metrics.
const maxRun = 256

// Bounds on labels, counted by their equals signs. The parser compares each label
// name of a line with all before it, so that its work grows with the square: a line
// of a million labels would take it hours, and 16 MiB of lines of 128 labels take
// it 20 s. maxLabelWork, the sum of the squares, allows 100,000 lines of 22 labels.
const (
	maxLabels    = 128
	maxLabelWork = 50_000_000
)

// reading is one sample line of an exposition.
type reading struct {
	name   string
	labels []*dto.LabelPair
	value  float64
	// timestampMS is when the source took the value; nil when the line has no time.
	timestampMS *int64
}

// exposition splits the text format into runs of lines of one metric family and
// has each run parsed by itself, because the parser of prometheus/common gives up
// at the first line it cannot read.
//
// HELP and TYPE lines are left out. Nothing here depends on a type, their absence
// is normal in captures, and their repetition (two scrapes in one body) is what
// makes the parser refuse the most.
type exposition struct {
	parser expfmt.TextParser
	lost   *losses
	yield  func(reading)

	family string
	run    []sampleLine
	text   bytes.Buffer
	work   int // label comparisons still allowed
}

type sampleLine struct {
	number int
	text   []byte
}

// readExposition calls yield for each readable DCGM sample of the body, in order
// of the lines, and reports the rest to lost. Samples of one family may be
// repeated and mixed with others; titles, rules, blank lines and CRLF are passed
// over. The body is not kept.
func readExposition(body []byte, lost *losses, yield func(reading)) {
	e := exposition{
		parser: expfmt.NewTextParser(model.UTF8Validation),
		lost:   lost,
		yield:  yield,
		work:   maxLabelWork,
	}
	e.read(body)
}

func (e *exposition) read(body []byte) {
	for number := 1; len(body) > 0; number++ {
		line, rest, terminated := bytes.Cut(body, []byte("\n"))
		body = rest
		e.line(number, bytes.TrimSpace(line), terminated)
	}
	e.flush()
}

func (e *exposition) line(number int, text []byte, terminated bool) {
	if len(text) == 0 || text[0] == '#' {
		return
	}
	name := metricName(text)
	if len(name) == 0 {
		e.lost.addUnreadable(number)
		return
	}
	if !bytes.HasPrefix(name, []byte(familyPrefix)) {
		return
	}
	if !e.affordable(text) {
		e.lost.add(fmt.Sprintf("%s, line %d", name, number), "too many labels")
		return
	}
	if !terminated {
		// The format ends every line with a line feed, so this one may be cut in
		// the middle of its number.
		e.lost.add(fmt.Sprintf("%s, line %d", name, number), "the answer ends inside this line")
		return
	}
	if string(name) != e.family || len(e.run) == maxRun {
		e.flush()
		e.family = string(name)
	}
	e.run = append(e.run, sampleLine{number: number, text: text})
}

// affordable tells whether a line can be parsed within the bounds on labels.
func (e *exposition) affordable(text []byte) bool {
	labels := bytes.Count(text, []byte("="))
	if labels > maxLabels || labels*labels > e.work {
		return false
	}
	e.work -= labels * labels
	return true
}

// flush parses the lines gathered so far, one by one if they cannot be parsed
// together.
func (e *exposition) flush() {
	if len(e.run) == 0 {
		return
	}
	if err := e.parse(e.run); err != nil {
		for i := range e.run {
			if err := e.parse(e.run[i : i+1]); err != nil {
				e.lost.add(fmt.Sprintf("%s, line %d", e.family, e.run[i].number), reason(err))
			}
		}
	}
	e.run = e.run[:0]
}

// parse yields the samples of the lines, or none of them and an error.
func (e *exposition) parse(lines []sampleLine) error {
	e.text.Reset()
	for _, line := range lines {
		e.text.Write(line.text)
		e.text.WriteByte('\n')
	}
	families, err := e.parser.TextToMetricFamilies(&e.text)
	if err != nil {
		return err
	}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			e.yield(reading{
				name:        name,
				labels:      metric.GetLabel(),
				value:       metric.GetUntyped().GetValue(),
				timestampMS: metric.TimestampMs,
			})
		}
	}
	return nil
}

// reason is the parser's message without its line number, which counts from the
// start of the run.
func reason(err error) string {
	var parse expfmt.ParseError
	if errors.As(err, &parse) {
		return strings.TrimSpace(parse.Msg)
	}
	return err.Error()
}

// metricName is the name that a sample line begins with, empty if it begins with
// something else. Names in quotes, which are for names that DCGM does not use,
// are something else.
func metricName(line []byte) []byte {
	end := 0
	for end < len(line) && isNameByte(line[end], end) {
		end++
	}
	return line[:end]
}

func isNameByte(b byte, at int) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == ':' || at > 0 && b >= '0' && b <= '9'
}
