package pricing

import (
	"errors"
	"strconv"
	"strings"
)

// micro is how many micro-units are in one unit of a currency.
const micro = 1_000_000

// places is how many decimal places a micro-unit has.
const places = 6

const amountHint = "must be a decimal such as 6.88"

// The ways in which an amount cannot be read.
var (
	errNoAmount   = errors.New(amountHint)
	errNegative   = errors.New("must not be negative; " + amountHint)
	errExponent   = errors.New("must have no exponent; " + amountHint)
	errTooPrecise = errors.New("must have at most 6 decimal places; round it, as in 0.982857")
	errTooLarge   = errors.New("must be below 9223372036854; write the price of one hour")
)

// ParseAmount reads a decimal such as 6.88 into micro-units. Zero is an amount; signs,
// exponents, separators and more than 6 decimal places are errors, which say how to
// write it.
func ParseAmount(text string) (int64, error) {
	if err := misspelt(text); err != nil {
		return 0, err
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > places {
		return 0, errTooPrecise
	}
	micros, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil {
		return 0, errTooLarge // The digits have been looked at: only the range is left.
	}
	return micros, nil
}

// misspelt says what is wrong with an amount that is not digits with one point between.
func misspelt(text string) error {
	whole, fraction, point := strings.Cut(text, ".")
	switch {
	case isDigits(whole) && (!point || isDigits(fraction)):
		return nil
	case strings.HasPrefix(text, "-"):
		return errNegative
	case strings.ContainsAny(text, "eE") && isNumber(text):
		return errExponent
	default:
		return errNoAmount
	}
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// Format writes micro-units as a decimal without an exponent, with two decimal places
// or as many more, up to six, as are not zero: 6.88, 0.982857.
func Format(micros int64) string {
	sign, amount := "", uint64(micros)
	if micros < 0 {
		sign, amount = "-", -amount
	}
	fraction := strconv.FormatUint(micro+amount%micro, 10)[1:]
	for len(fraction) > 2 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	return sign + strconv.FormatUint(amount/micro, 10) + "." + fraction
}
