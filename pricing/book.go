package pricing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/strictyaml"
)

// MaxBytes is how long the text of a book may be. A ConfigMap holds no more.
const MaxBytes = 1 << 20

// maxErrors is how many errors one message lists.
const maxErrors = 50

// usd is the currency of the built-in list and the default.
const usd = "USD"

// hashLength is how many hexadecimal digits tell books apart.
const hashLength = 12

// Book answers what an hour of anything costs. It never changes; use Parse or Default.
type Book struct {
	currency, hash string
	rules          ruleIndex
	selects        []string
	list           priceList
	// useList tells that the built-in list gives prices. It says how many devices an
	// instance type has in any case.
	useList bool
}

// Currency is the ISO 4217 code of every amount of the book.
func (b *Book) Currency() string { return b.currency }

// Selects returns the labels by which rules with a nodeSelector tell nodes apart, in
// order. It must not be changed.
func (b *Book) Selects() []string { return b.selects }

// Hash tells what the book says apart from what others say: 12 hexadecimal digits over
// its rules and the built-in list with its dates. Comments and layout do not count.
func (b *Book) Hash() string { return b.hash }

var defaultBook = sync.OnceValue(func() *Book { return newBook(v1alpha1.PriceBook{}, nil) })

// Default returns the book without rules: the built-in list of on-demand prices in USD.
func Default() *Book { return defaultBook() }

// Parse reads prices.yaml. Unknown fields, and every value that is wrong, are errors
// that name the path and say what to write; empty text is the Default book. Text of more
// than MaxBytes is refused unread.
func Parse(text []byte) (*Book, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("decoding the price book: it has %d bytes and may have %d; price several nodes by one rule", len(text), MaxBytes)
	}
	if furtherDocument(text) {
		return nil, fmt.Errorf("decoding the price book: a second YAML document would be ignored; write one list of rules")
	}
	var in v1alpha1.PriceBook
	if err := strictyaml.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("decoding the price book: %w", err)
	}
	rules, errs := compile(in.Rules)
	errs = append(validateHead(in), errs...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("validating the price book: %w", limited(errs).ToAggregate())
	}
	return newBook(in, rules), nil
}

func newBook(in v1alpha1.PriceBook, rules []rule) *Book {
	if in.Currency == "" {
		in.Currency = usd
	}
	if in.BuiltIn == "" {
		in.BuiltIn = v1alpha1.BuiltInUse
	}
	return &Book{
		currency: in.Currency, hash: hashOf(in), rules: indexOf(rules), selects: selected(rules),
		list: builtIn(), useList: in.BuiltIn == v1alpha1.BuiltInUse,
	}
}

// hashOf is over the decoded book, whose JSON has one form, and the embedded list.
func hashOf(in v1alpha1.PriceBook) string {
	canonical, err := json.Marshal(in)
	if err != nil {
		panic(err) // Strings, integers and maps of strings can be encoded.
	}
	sum := sha256.Sum256(append(canonical, priceTable...))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// furtherDocument tells whether the text goes on with a second YAML document, which the
// decoder would pass over in silence.
func furtherDocument(text []byte) bool {
	var begun, ended bool
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimRight(line, " \t\r\n"); {
		case len(line) == 0 || line[0] == '#' || line[0] == '%':
		case bytes.Equal(line, []byte("...")):
			ended = true
		case ended, begun && beginsDocument(line):
			return true
		default:
			begun = true
		}
	}
	return false
}

func beginsDocument(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

// limited keeps a message readable where one mistake was made in a thousand rules.
func limited(errs field.ErrorList) field.ErrorList {
	if len(errs) <= maxErrors {
		return errs
	}
	more := fmt.Sprintf("has %d more errors; correct those above first", len(errs)-maxErrors)
	return append(errs[:maxErrors:maxErrors], field.Invalid(field.NewPath("rules"), "...", more))
}
