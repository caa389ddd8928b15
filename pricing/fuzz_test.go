package pricing

import (
	"strings"
	"testing"
)

// FuzzParse looks for text that is taken and then gives prices that cannot be.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", rules, "currency: EUR\nbuiltIn: Ignore\n", "rules:\n- {product: p, perDeviceHour: 0}\n",
		"rules:\n- {product: p, perDeviceHour: abc}\n", "rules:\n- {instanceType: metal, perInstanceHour: 1e3, devices: 9223372036854775807}\n",
		"rules:\n- {instanceType: metal, perInstanceHour: 9223372036854.775807}\n", "rules: [null]\n", "rules:\n- {nodeSelector: {a: b}, perDeviceHour: 0x10}\n",
		"a: &a [x]\nb: [*a, *a]\n", "{\"rules\": []}", strings.Repeat("#", MaxBytes), strings.Repeat("- ", 1000),
	} {
		f.Add([]byte(seed))
	}
	node := offering(with(with(nodeOf("metal", "us-east-1"), "a", "b"), "nvidia.com/gpu.product", "p"), "nvidia.com/gpu", 3)
	f.Fuzz(func(t *testing.T, text []byte) {
		book, err := Parse(text)
		if err != nil {
			if book != nil {
				t.Error("a book and an error")
			}
			return
		}
		if len(book.Hash()) != hashLength || len(book.Currency()) != 3 {
			t.Errorf("hash %q, currency %q", book.Hash(), book.Currency())
		}
		option := Option{Node: node, Wants: gpus(3)}
		price := book.Hourly(option, noon)
		if message := brokenPrice(price); message != "" {
			t.Errorf("%s: %+v", message, price)
		}
		if message := brokenEstimate(book.Range([]Option{option}, true, noon), true, []Price{price}); message != "" {
			t.Error(message)
		}
	})
}

// FuzzParseAmount: what is taken is written back as the same amount.
func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"6.88", "0", "9223372036854.775807", "1e3", "-1", "abc", "٣", "1."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		micros, err := ParseAmount(text)
		if err != nil {
			return
		}
		if again, err := ParseAmount(Format(micros)); micros < 0 || err != nil || again != micros {
			t.Errorf("%q is %d, written %s, read %d, %v", text, micros, Format(micros), again, err)
		}
	})
}
