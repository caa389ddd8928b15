package pricing

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dear are the rows that cost more than twice, or less than half, of what the median row
// of their product costs per device in their cloud. A new one is either a mistake in the
// list or belongs here, with its reason.
var dear = map[string]string{
	"aws g4dn.8xlarge us-east-1":        "much CPU and memory around one device",
	"aws g4dn.16xlarge us-east-1":       "much CPU and memory around one device",
	"aws g5.16xlarge us-east-1":         "much CPU and memory around one device",
	"aws g6.16xlarge us-east-1":         "much CPU and memory around one device",
	"aws g6e.16xlarge us-east-1":        "much CPU and memory around one device",
	"aws g5.xlarge us-east-1":           "the least CPU and memory around one device",
	"aws g6.xlarge us-east-1":           "the least CPU and memory around one device",
	"aws g6e.xlarge us-east-1":          "the least CPU and memory around one device",
	"azure Standard_NC4as_T4_v3 eastus": "the least CPU and memory around one device, in the cheapest region",
}

// TestPriceListLint holds the list to what price tables are known to get wrong.
func TestPriceListLint(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(priceTable)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	perDevice, byProduct := map[string]float64{}, map[string][]string{}
	for _, r := range records[1:] {
		name := strings.Join([]string{r[0], r[1], r[6]}, " ")
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
		for i, cell := range r {
			if cell != strings.TrimSpace(cell) || (cell == "" && i != 5) {
				t.Errorf("%s: column %d is %q", name, i, cell)
			}
		}
		count, err := strconv.ParseFloat(r[3], 64)
		if err != nil || count <= 0 {
			t.Errorf("%s: count %q must be positive", name, r[3])
		}
		if r[5] == "" {
			continue
		}
		micros, err := ParseAmount(r[5])
		if err != nil || micros <= 0 {
			t.Errorf("%s: price %q must be positive, or empty where not known: %v", name, r[5], err)
		}
		perDevice[name] = float64(micros) / count
		product := r[0] + " " + r[2]
		byProduct[product] = append(byProduct[product], name)
	}
	got := map[string]bool{}
	for _, names := range byProduct {
		slices.SortFunc(names, func(a, b string) int { return int(perDevice[a] - perDevice[b]) })
		median := perDevice[names[len(names)/2]]
		for _, name := range names {
			if perDevice[name] > 2*median || perDevice[name] < median/2 {
				got[name] = true
			}
		}
	}
	want := map[string]bool{}
	for name := range dear {
		want[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows far from the median of their product (-known +found):\n%s", diff)
	}
}

// The list has no spot prices, so there is no "spot at most on-demand" to check; what
// has no on-demand price must be empty, whatever others hard-code.
func TestPricesThatAreNotPublishedAreUnknown(t *testing.T) {
	for _, instanceType := range []string{"p5e.48xlarge", "trn2.48xlarge", "a4-highgpu-8g"} {
		t.Run(instanceType, func(t *testing.T) {
			rows := builtIn()[instanceType]
			if len(rows) != 1 || rows[0].micros != 0 {
				t.Errorf("rows %+v, want one without a price", rows)
			}
		})
	}
}

func TestLoadListRefuses(t *testing.T) {
	const row = "aws,x.large,NVIDIA-X,1,16,1.5,r,s,d"
	tests := map[string]struct{ text, want string }{
		"nothing":         {"", "reading the price list: the header must be " + listHeader},
		"another header":  {"a,b\n", "reading the price list: the header must be " + listHeader},
		"a short row":     {listHeader + "\naws,x\n", "reading the price list: record on line 2: wrong number of fields"},
		"zero":            {listHeader + "\n" + strings.Replace(row, "1.5", "0.0", 1), `reading line 2 of the price list: price "0.0" must not be zero; leave out what is not known`},
		"text":            {listHeader + "\n" + strings.Replace(row, "1.5", "n/a", 1), `reading line 2 of the price list: price "n/a": must be a decimal such as 6.88`},
		"no devices":      {listHeader + "\n" + strings.Replace(row, ",1,", ",0,", 1), `reading line 2 of the price list: count "0" must be a positive integer or a part of one device`},
		"one and a half":  {listHeader + "\n" + strings.Replace(row, ",1,", ",1.5,", 1), `reading line 2 of the price list: count "1.5" must be a positive integer or a part of one device`},
		"not a number":    {listHeader + "\n" + strings.Replace(row, ",1,", ",NaN,", 1), `reading line 2 of the price list: count "NaN" must be a positive integer or a part of one device`},
		"devices in text": {listHeader + "\n" + strings.Replace(row, ",1,", ",one,", 1), `reading line 2 of the price list: count "one" must be a positive integer or a part of one device`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loadList(test.text)
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}
