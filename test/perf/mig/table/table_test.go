package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	line := Line{Geometry: "g", Mix: "m", LoadPercent: 80, Policy: "p", Accepted: []float64{90, 110}, Percents: []float64{45, 55}, GPUs: []float64{3, 4}, SlicePercents: []float64{70, 80}}
	for want, others := range map[string][2][]float64{
		"g m 80 p 2 100 10 50.00 3.5 75.0 +25.00 -20.00": {{70, 90}, {125}},
		"g m 80 p 2 100 10 50.00 3.5 75.0 - +0.00":       {nil, {100}},
	} {
		line.First, line.Best = others[0], others[1]
		var text strings.Builder
		if err := Print(&text, []Line{line}); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(text.String(), "\n")
		if diff := cmp.Diff(want, strings.Join(strings.Fields(body), " ")); diff != "" {
			t.Error(diff)
		}
	}
}

type brokenWriter struct{}

var errClosed = errors.New("closed")

func (brokenWriter) Write([]byte) (int, error) { return 0, errClosed }

func TestPrintSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	if err := Print(brokenWriter{}, nil); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}
