package pricing

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReportsEveryErrorAndTheFix(t *testing.T) {
	rule := func(lines ...string) string { return "rules:\n- " + strings.Join(lines, "\n  ") + "\n" }
	amount := func(text string) string { return rule("product: NVIDIA-L4", "perDeviceHour: "+text) }
	const hint = "must be a decimal such as 6.88"
	tests := map[string]struct {
		text string
		want string // after "validating the price book: "
	}{
		"text":           {amount("abc"), `rules[0].perDeviceHour: Invalid value: "abc": ` + hint},
		"zero":           {amount("0"), `rules[0].perDeviceHour: Invalid value: "0": must not be zero; leave out the rule of what is not known`},
		"quoted zero":    {amount(`"0.000000"`), `rules[0].perDeviceHour: Invalid value: "0.000000": must not be zero; leave out the rule of what is not known`},
		"negative":       {amount("-1.5"), `rules[0].perDeviceHour: Invalid value: "-1.5": must not be negative; ` + hint},
		"too precise":    {amount("0.1234567"), `rules[0].perDeviceHour: Invalid value: "0.1234567": must have at most 6 decimal places; round it, as in 0.982857`},
		"exponent":       {amount(`"1e3"`), `rules[0].perDeviceHour: Invalid value: "1e3": must have no exponent; ` + hint},
		"overflow":       {amount("99999999999999"), `rules[0].perDeviceHour: Invalid value: "99999999999999": must be below 9223372036854; write the price of one hour`},
		"empty":          {amount(`""`), `rules[0]: Required value: must have a price: perInstanceHour or perDeviceHour, such as 6.88; leave out the rule of what is not known`},
		"null":           {amount("null"), `rules[0]: Required value: must have a price: perInstanceHour or perDeviceHour, such as 6.88; leave out the rule of what is not known`},
		"both prices":    {rule("product: NVIDIA-L4", "perDeviceHour: 1", "perInstanceHour: 1"), `rules[0]: Invalid value: "perDeviceHour, perInstanceHour": must have one price; keep perInstanceHour, which is divided by devices, or perDeviceHour`},
		"no matcher":     {rule("perDeviceHour: 1"), `rules[0]: Required value: must match nodes by one of nodeSelector, instanceType and product`},
		"only a region":  {rule("region: r", "perDeviceHour: 1"), `rules[0]: Required value: must match nodes by one of nodeSelector, instanceType and product`},
		"two matchers":   {rule("product: p", "instanceType: i", "perDeviceHour: 1"), `rules[0]: Invalid value: "instanceType, product": must match nodes by one of these; put the others into a nodeSelector or a rule of their own`},
		"devices":        {rule("product: p", "devices: -1", "perInstanceHour: 1"), `rules[0].devices: Invalid value: -1: must be positive, or left out for what the node has`},
		"devices of one": {rule("product: p", "devices: 8", "perDeviceHour: 1"), `rules[0].devices: Invalid value: 8: divides perInstanceHour; leave it out beside perDeviceHour`},
		"a date":         {rule("product: p", "perDeviceHour: 1", "effectiveFrom: 30.11.2026"), `rules[0].effectiveFrom: Invalid value: "30.11.2026": must be a day such as 2026-11-30`},
		"no such day":    {rule("product: p", "perDeviceHour: 1", "effectiveTo: 2026-02-30"), `rules[0].effectiveTo: Invalid value: "2026-02-30": must be a day such as 2026-11-30`},
		"dates reversed": {rule("product: p", "perDeviceHour: 1", "effectiveFrom: 2026-02-02", "effectiveTo: 2026-02-01"), `rules[0].effectiveTo: Invalid value: "2026-02-01": must not be before effectiveFrom, 2026-02-02; exchange them`},
		"a suffix":       {rule("product: NVIDIA-L4-SHARED", "perDeviceHour: 1"), `rules[0].product: Invalid value: "NVIDIA-L4-SHARED": must be without what sharing or MIG append; write "NVIDIA-L4"`},
		"region beside a selector": {rule("nodeSelector: {a: b}", "region: r", "perDeviceHour: 1"),
			`rules[0].region: Invalid value: "r": does not narrow a nodeSelector; put topology.kubernetes.io/region into the nodeSelector`},
		"currency":         {"currency: usd\nbuiltIn: Ignore\n", `currency: Invalid value: "usd": must be an ISO 4217 code of three capital letters, such as USD`},
		"another currency": {"currency: EUR\n", `currency: Invalid value: "EUR": the built-in list is in USD; set builtIn: Ignore and price nodes by rules, or leave out currency`},
		"builtIn":          {"builtIn: never\n", `builtIn: Unsupported value: "never": supported values: "Use", "Ignore"`},
		"twice": {"rules:\n- {product: p, perDeviceHour: 1}\n- {product: q, perDeviceHour: 1}\n- {product: p, perDeviceHour: 2}\n",
			`rules[2]: Invalid value: "p": matches the same nodes as rules[0] at the same time; remove one, or end one by effectiveTo before the other begins`},
		"twice by selector": {"rules:\n- {nodeSelector: {a: b, c: d}, perDeviceHour: 1}\n- {nodeSelector: {c: d, a: b}, perDeviceHour: 2}\n",
			`rules[1]: Invalid value: "a=b,c=d": matches the same nodes as rules[0] at the same time; remove one, or end one by effectiveTo before the other begins`},
		"twice on one day": {"rules:\n- {product: p, perDeviceHour: 1, effectiveTo: 2026-06-30}\n- {product: p, perDeviceHour: 2, effectiveFrom: 2026-06-30}\n",
			`rules[1]: Invalid value: "p": matches the same nodes as rules[0] at the same time; remove one, or end one by effectiveTo before the other begins`},
		"hidden by every region": {"rules:\n- {product: p, perDeviceHour: 1}\n- {product: p, region: r, perDeviceHour: 2}\n",
			`rules[1]: Invalid value: "p r": can never apply, as rules[0] matches the same nodes in every region; move it before rules[0]`},
		"several": {"currency: EUR\nrules:\n- {}\n- {product: p, perDeviceHour: x}\n",
			`[currency: Invalid value: "EUR": the built-in list is in USD; set builtIn: Ignore and price nodes by rules, or leave out currency, ` +
				`rules[0]: Required value: must match nodes by one of nodeSelector, instanceType and product, ` +
				`rules[0]: Required value: must have a price: perInstanceHour or perDeviceHour, such as 6.88; leave out the rule of what is not known, ` +
				`rules[1].perDeviceHour: Invalid value: "x": must be a decimal such as 6.88]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.text))
			if err == nil {
				t.Fatalf("no error, want %s", test.want)
			}
			if diff := cmp.Diff("validating the price book: "+test.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"an unknown field":    {"rules:\n- {product: p, perGPUHour: 1}\n", `unknown field "rules[0].perGPUHour"`},
		"an unknown head":     {"curency: USD\n", `unknown field "curency"`},
		"a field twice":       {"currency: USD\ncurrency: USD\n", `key "currency" already set`},
		"no YAML":             {"rules: [", "decoding the price book"},
		"an amount's kind":    {"rules:\n- {product: p, perDeviceHour: [1]}\n", "write a decimal such as 6.88"},
		"a label's key":       {"rules:\n- {nodeSelector: {\"a b\": c}, perDeviceHour: 1}\n", `rules[0].nodeSelector[a b]: Invalid value: "a b": must be a label's key, such as node.example.com/pool`},
		"a label's value":     {"rules:\n- {nodeSelector: {a: \"c d\"}, perDeviceHour: 1}\n", `rules[0].nodeSelector[a]: Invalid value: "c d": must be what a node's label can say`},
		"no instance type":    {"rules:\n- {instanceType: \"p5 48xlarge\", perDeviceHour: 1}\n", `rules[0].instanceType: Invalid value: "p5 48xlarge": must be what a node's label can say`},
		"a second document":   {"currency: USD\n---\nrules: []\n", "a second YAML document would be ignored"},
		"after the end":       {"currency: USD\n...\nrules: []\n", "a second YAML document would be ignored"},
		"more than 1 MiB":     {strings.Repeat("#", MaxBytes+1), "it has 1048577 bytes and may have 1048576"},
		"a thousand mistakes": {"rules:\n" + strings.Repeat("- {}\n", 1000), "has 1950 more errors; correct those above first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	tests := map[string]string{
		"nothing":               "",
		"a comment":             "# none yet\n",
		"a document mark":       "# prices\n---\nrules: []\n",
		"exactly 1 MiB":         strings.Repeat("#", MaxBytes),
		"another currency":      "currency: EUR\nbuiltIn: Ignore\nrules:\n- {product: p, perDeviceHour: 6.10}\n",
		"one after the other":   "rules:\n- {product: p, perDeviceHour: 1, effectiveTo: 2026-06-30}\n- {product: p, perDeviceHour: 2, effectiveFrom: 2026-07-01}\n",
		"regions, then any":     "rules:\n- {product: p, region: r, perDeviceHour: 1}\n- {product: p, region: s, perDeviceHour: 2}\n- {product: p, perDeviceHour: 3}\n",
		"any for a time, first": "rules:\n- {product: p, perDeviceHour: 1, effectiveTo: 2026-06-30}\n- {product: p, region: r, perDeviceHour: 2}\n",
		"marks in a text":       "rules:\n- product: p\n  perDeviceHour: 1\n  note: |\n    ---\n    ...\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(text)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHashTellsBooksApart(t *testing.T) {
	parse := func(text string) *Book {
		t.Helper()
		book, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return book
	}
	base := parse("rules:\n- {product: p, perDeviceHour: 1}\n")
	if len(base.Hash()) != 12 {
		t.Errorf("hash %q, want 12 digits", base.Hash())
	}
	same := map[string]*Book{
		"layout and comments": parse("# the same\ncurrency: USD\nbuiltIn: Use\nrules:\n- product: p\n  perDeviceHour: 1\n"),
	}
	for name, book := range same {
		if book.Hash() != base.Hash() {
			t.Errorf("%s change the hash", name)
		}
	}
	other := map[string]*Book{
		"no rules":      Default(),
		"another price": parse("rules:\n- {product: p, perDeviceHour: 2}\n"),
		"a date":        parse("rules:\n- {product: p, perDeviceHour: 1, effectiveFrom: 2026-01-01}\n"),
		"no list":       parse("builtIn: Ignore\nrules:\n- {product: p, perDeviceHour: 1}\n"),
	}
	for name, book := range other {
		if book.Hash() == base.Hash() {
			t.Errorf("%s: the same hash", name)
		}
	}
	if empty := parse(""); empty.Hash() != Default().Hash() || empty.Currency() != "USD" {
		t.Errorf("empty text is %s in %s, want the default book", empty.Hash(), empty.Currency())
	}
}

func TestSelectsNamesTheLabelsOfAllSelectors(t *testing.T) {
	t.Parallel()
	book, err := Parse([]byte(`rules:
- {nodeSelector: {pool: a, zone: x}, perDeviceHour: "1"}
- {nodeSelector: {pool: b}, perDeviceHour: "2"}
- {product: NVIDIA-L4, perDeviceHour: "3"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := book.Selects(), []string{"pool", "zone"}; !slices.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
}
