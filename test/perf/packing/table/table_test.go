package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	published := 90.0
	tests := map[string]struct {
		line Line
		want string
	}{
		"known":               {Line{Percents: []float64{90, 92}, CapacityGPUs: 50, Published: &published}, "2 91.00 1.00 4.5 90.00 +1.00 -"},
		"worse":               {Line{Percents: []float64{89}, CapacityGPUs: 50, Published: &published}, "1 89.00 0.00 5.5 90.00 -1.00 -"},
		"over the best":       {Line{Percents: []float64{91}, CapacityGPUs: 50, Best: &published}, "1 91.00 0.00 4.5 - - +1.00"},
		"not published":       {Line{Percents: []float64{90}, CapacityGPUs: 50}, "1 90.00 0.00 5.0 - - -"},
		"demand not reached":  {Line{CapacityGPUs: 50, Published: &published}, "0 - - - 90.00 - -"},
		"nothing known":       {Line{CapacityGPUs: 50}, "0 - - - - - -"},
		"nothing allocated":   {Line{Percents: []float64{0}, CapacityGPUs: 50}, "1 0.00 0.00 50.0 - - -"},
		"everything is given": {Line{Percents: []float64{100}, CapacityGPUs: 50}, "1 100.00 0.00 0.0 - - -"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.line.Workload, tt.line.Policy = "w", "p"
			var text strings.Builder
			if err := Print(&text, []Line{tt.line}); err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(text.String(), "\n")
			if diff := cmp.Diff("w p "+tt.want, strings.Join(strings.Fields(body), " ")); diff != "" {
				t.Error(diff)
			}
		})
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
