package pricing

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestParseAmount(t *testing.T) {
	tests := map[string]struct {
		want    int64
		wantErr error
	}{
		"6.88":                 {want: 6_880_000},
		"55.04":                {want: 55_040_000},
		"0.982857":             {want: 982_857},
		"0.000001":             {want: 1},
		"12":                   {want: 12_000_000},
		"0":                    {want: 0},
		"007.50":               {want: 7_500_000},
		"9223372036854.775807": {want: math.MaxInt64},
		"9223372036854.775808": {wantErr: errTooLarge},
		"99999999999999999999": {wantErr: errTooLarge},
		"6.8800001":            {wantErr: errTooPrecise},
		"-1":                   {wantErr: errNegative},
		"-0.5":                 {wantErr: errNegative},
		"1e3":                  {wantErr: errExponent},
		"6.88E-1":              {wantErr: errExponent},
		"1e999":                {wantErr: errExponent},
		"abc":                  {wantErr: errNoAmount},
		"":                     {wantErr: errNoAmount},
		"+1":                   {wantErr: errNoAmount},
		".5":                   {wantErr: errNoAmount},
		"5.":                   {wantErr: errNoAmount},
		"1.2.3":                {wantErr: errNoAmount},
		"1,5":                  {wantErr: errNoAmount},
		"1_000":                {wantErr: errNoAmount},
		" 1":                   {wantErr: errNoAmount},
		"0x10":                 {wantErr: errNoAmount},
		"NaN":                  {wantErr: errNoAmount},
		"Inf":                  {wantErr: errNoAmount},
		"$6.88":                {wantErr: errNoAmount},
		"٣":                    {wantErr: errNoAmount},
		"unknown":              {wantErr: errNoAmount},
	}
	for text, test := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := ParseAmount(text)
			if got != test.want || err != test.wantErr { //nolint:errorlint // the very error is returned
				t.Errorf("%d, %v; want %d, %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	tests := map[int64]string{
		6_880_000: "6.88", 982_857: "0.982857", 1: "0.000001", 12_000_000: "12.00", 0: "0.00", 1_500_000: "1.50",
		201_200: "0.2012", 63_296_000_000: "63296.00", math.MaxInt64: "9223372036854.775807",
		-500_000: "-0.50", math.MinInt64: "-9223372036854.775808",
	}
	for micros, want := range tests {
		t.Run(want, func(t *testing.T) {
			if got := Format(micros); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestParseAmountReadsWhatFormatWrote(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		want := random.Int64() >> random.IntN(63)
		if got, err := ParseAmount(Format(want)); err != nil || got != want {
			t.Fatalf("%d is written as %s and read as %d, %v", want, Format(want), got, err)
		}
	}
}
