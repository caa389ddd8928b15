package dcgm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"wastenot.dev/telemetry/sample"
)

func read(text string) sample.Batch {
	return Read([]byte(text), Origin{Endpoint: "test", Node: "node-1", FetchedAt: fetchedAt, Budget: 2 * time.Minute})
}

// temps gives the GPU temperature of each device by UUID, or by index.
func temps(batch sample.Batch) map[string]string {
	got := map[string]string{}
	for _, device := range batch.Devices {
		got[name(&device)] = device.Fields[sample.GPUTemp].String()
	}
	return got
}

func whys(batch sample.Batch) []string {
	var got []string
	for _, problem := range batch.Problems {
		got = append(got, problem.Where+": "+problem.Why)
	}
	return got
}

func TestABrokenLineCostsOnlyItself(t *testing.T) {
	const good = `DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a"} 40
DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-b"} 41
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 100
`
	tests := map[string]struct{ broken, wantWhy string }{
		"value that is no number":    {`DCGM_FI_DEV_GPU_TEMP{gpu="2",UUID="GPU-c"} N/A`, `DCGM_FI_DEV_GPU_TEMP, line 2: expected float as value, got "N/A"`},
		"label value not closed":     {`DCGM_FI_DEV_GPU_TEMP{gpu="2",UUID="GPU-c} 40`, "DCGM_FI_DEV_GPU_TEMP, line 2: label value"},
		"label that comes twice":     {`DCGM_FI_DEV_GPU_TEMP{gpu="2",gpu="3"} 40`, "DCGM_FI_DEV_GPU_TEMP, line 2: duplicate label names"},
		"no value":                   {`DCGM_FI_DEV_GPU_TEMP{gpu="2",UUID="GPU-c"}`, "DCGM_FI_DEV_GPU_TEMP, line 2: "},
		"time that is no number":     {`DCGM_FI_DEV_GPU_TEMP{gpu="2",UUID="GPU-c"} 40 now`, "DCGM_FI_DEV_GPU_TEMP, line 2: expected integer as timestamp"},
		"label value that is binary": {"DCGM_FI_DEV_GPU_TEMP{gpu=\"\xff\"} 40", "DCGM_FI_DEV_GPU_TEMP, line 2: invalid label value"},
		"rest of a torn line":        {`,UUID="GPU-c"} 40`, "line 2: 1 lines are no metrics"},
		"name in quotes":             {`{"DCGM_FI_DEV_GPU_TEMP",gpu="2"} 40`, "line 2: 1 lines are no metrics"},
		"only a name":                {`DCGM_FI_DEV_GPU_TEMP`, "DCGM_FI_DEV_GPU_TEMP, line 2: "},
		"a row about no device":      {`DCGM_FI_DEV_GPU_TEMP 40`, "labels: 1 readings name no device"},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			first, rest, _ := strings.Cut(good, "\n")
			batch := read(first + "\n" + test.broken + "\n" + rest)
			want := map[string]string{"GPU-a": "40", "GPU-b": "41"}
			if diff := cmp.Diff(want, temps(batch)); diff != "" {
				t.Errorf("temperatures differ (-want +got):\n%s", diff)
			}
			if !batch.Devices[0].Fields[sample.Power].Is(100) {
				t.Errorf("the family after the broken one is lost")
			}
			if got := whys(batch); len(got) != 1 || !strings.HasPrefix(got[0], test.wantWhy) {
				t.Errorf("problems = %q, want one that begins with %q", got, test.wantWhy)
			}
		})
	}
}

func TestALineThatTheAnswerEndsInIsNotBelieved(t *testing.T) {
	batch := read("DCGM_FI_DEV_FB_USED{UUID=\"GPU-a\"} 512\nDCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 4")
	if got := batch.Devices[0].Fields[sample.GPUTemp]; got.IsKnown() {
		t.Errorf("temperature = %v from a number that may be cut short", got)
	}
	want := []string{"DCGM_FI_DEV_GPU_TEMP, line 2: the answer ends inside this line"}
	if diff := cmp.Diff(want, whys(batch)); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestFormsThatAreReadWithoutLoss(t *testing.T) {
	tests := map[string]string{
		"plain":                  `DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a"} 40` + "\n",
		"spaces in labels":       `DCGM_FI_DEV_GPU_TEMP{ gpu = "0" , UUID = "GPU-a" , } 40` + "\n",
		"tabs and indent":        "\t DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"}\t40 \n",
		"HELP without TYPE":      "# HELP DCGM_FI_DEV_GPU_TEMP x\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n",
		"TYPE after samples":     "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n",
		"TYPE that is no type":   "# TYPE DCGM_FI_DEV_GPU_TEMP thermometer\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n",
		"OpenMetrics end":        "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n# EOF\n",
		"end mark without feed":  "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n# EOF",
		"blank lines and CRLF":   "\r\n\r\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\r\n\r\n",
		"number with exponent":   `DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a"} 4.0e+01` + "\n",
		"families of others":     "go_goroutines 7\nnode_load1{cpu=\"0\"} broken\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n",
		"rows of a switch":       "DCGM_FI_DEV_NVSWITCH_CURRENT_IDDQ{nvswitch=\"nvswitch0\"} 1\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n",
		"UUID and host in lower": `DCGM_FI_DEV_GPU_TEMP{device="nvidia0",uuid="GPU-a",hostname="n"} 40` + "\n",
		"index from device":      `DCGM_FI_DEV_GPU_TEMP{device="nvidia0",UUID="GPU-a"} 40` + "\n",
		"interleaved families": "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",pod=\"p\"} 9\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 40\n" +
			"DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",pod=\"q\"} 9\n",
	}
	for label, body := range tests {
		t.Run(label, func(t *testing.T) {
			batch := read(body)
			if diff := cmp.Diff(map[string]string{"GPU-a": "40"}, temps(batch)); diff != "" {
				t.Errorf("temperatures differ (-want +got):\n%s", diff)
			}
			if batch.Devices[0].Index != "0" {
				t.Errorf("index = %q, want 0", batch.Devices[0].Index)
			}
			if len(batch.Problems) != 0 {
				t.Errorf("problems = %q, want none", whys(batch))
			}
		})
	}
}

func TestOfASeriesThatComesTwiceTheLastCounts(t *testing.T) {
	batch := read(`DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",pod="p"} 80
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",pod="p"} 40
`)
	if diff := cmp.Diff(map[string]string{"GPU-a": "40"}, temps(batch)); diff != "" {
		t.Errorf("temperatures differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"series: 1 series came more than once; the last of each counts"}, whys(batch)); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestALineOfEndlessLabelsIsNotParsed(t *testing.T) {
	var labels strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&labels, `l%d="",`, i)
	}
	batch := read("DCGM_FI_DEV_GPU_TEMP{" + labels.String() + "gpu=\"1\"} 40\nDCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 40\n")
	if diff := cmp.Diff(map[string]string{"GPU-a": "40"}, temps(batch)); diff != "" {
		t.Errorf("temperatures differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DCGM_FI_DEV_GPU_TEMP, line 1: too many labels"}, whys(batch)); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestTheWorkOfLabelsIsBoundedOverTheWholeAnswer(t *testing.T) {
	var lost losses
	var got []float64
	e := exposition{
		parser: expfmt.NewTextParser(model.UTF8Validation),
		lost:   &lost,
		yield:  func(row reading) { got = append(got, row.value) },
		work:   10,
	}
	e.read([]byte("DCGM_FI_A{a=\"\",b=\"\"} 1\nDCGM_FI_A{a=\"\",b=\"\",c=\"\"} 2\nDCGM_FI_A{a=\"\",b=\"\"} 3\n"))
	if diff := cmp.Diff([]float64{1, 3}, got); diff != "" {
		t.Errorf("values of two lines at 4 and one at 9 with 10 to spend differ (-want +got):\n%s", diff)
	}
	want := []sample.Problem{{Where: "DCGM_FI_A, line 2", Why: "too many labels"}}
	if diff := cmp.Diff(want, lost.result()); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestAnAnswerWithoutDevicesIsAProblem(t *testing.T) {
	for label, body := range map[string]string{
		"empty":         "",
		"only comments": "# HELP DCGM_FI_DEV_GPU_TEMP x\n# EOF\n",
		"other metrics": "go_goroutines 7\n",
		"a web page":    "<html>\n<body>moved</body>\n</html>\n",
	} {
		t.Run(label, func(t *testing.T) {
			batch := read(body)
			if len(batch.Devices) != 0 {
				t.Fatalf("devices = %v, want none", batch.Devices)
			}
			got := whys(batch)
			if len(got) == 0 || !strings.HasPrefix(got[0], "inventory: no device in the answer") {
				t.Errorf("problems = %q, want the missing inventory first", got)
			}
		})
	}
}

func TestTheNumberOfProblemsIsBounded(t *testing.T) {
	var body strings.Builder
	const broken = 500
	for i := range broken {
		fmt.Fprintf(&body, "DCGM_FI_DEV_GPU_TEMP{gpu=\"%d\"} %s\n", i, strings.Repeat("x", 1000))
	}
	body.WriteString("DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 40\n")
	batch := read(body.String())
	if diff := cmp.Diff(map[string]string{"GPU-a": "40"}, temps(batch)); diff != "" {
		t.Errorf("temperatures differ (-want +got):\n%s", diff)
	}
	if got := len(batch.Problems); got != maxProblems+1 {
		t.Errorf("%d problems, want %d and one that counts the rest", got, maxProblems)
	}
	want := fmt.Sprintf("%d more problems are not listed", broken-maxProblems)
	if got := batch.Problems[len(batch.Problems)-1].Why; got != want {
		t.Errorf("last problem = %q, want %q", got, want)
	}
	for _, problem := range batch.Problems {
		if len(problem.Why) > maxWhy+3 {
			t.Errorf("an explanation has %d bytes", len(problem.Why))
		}
	}
}

func TestABodyThatNamesTooManyThingsIsCut(t *testing.T) {
	var body strings.Builder
	for i := range maxThings {
		fmt.Fprintf(&body, "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-%d\",pod=\"p-%d\"} 40\n", i, i)
	}
	batch := read(body.String())
	if got := len(batch.Devices); got == 0 || got > maxThings/2 {
		t.Errorf("%d devices of %d, want at most %d", got, maxThings, maxThings/2)
	}
	if got := whys(batch); len(got) != 1 || !strings.Contains(got[0], "too many devices and holders") {
		t.Errorf("problems = %q, want one about too many things", got)
	}
}
