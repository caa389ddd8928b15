package decide

import (
	"fmt"

	"wastenot.dev/api/v1alpha1"
)

// Price is what the pod would cost, as people read it.
type Price struct {
	// Least and Most bound the price of an hour, as decimals; both are empty or
	// "unknown" where no price is known.
	Least, Most string
	// Currency is the ISO 4217 code.
	Currency string
	// Where says what was priced, such as an instance type; empty for nothing.
	Where string
}

// PriceOf reads a price from the annotations of an estimate.
func PriceOf(annotations map[string]string, where string) Price {
	return Price{
		Least: annotations[v1alpha1.AnnotationHourlyMin], Most: annotations[v1alpha1.AnnotationHourlyMax],
		Currency: annotations[v1alpha1.AnnotationCurrency], Where: where,
	}
}

// String is a short phrase, such as "6.88 USD/h (p5.48xlarge)".
func (p Price) String() string {
	text := p.amount()
	if p.Where != "" {
		text += " (" + p.Where + ")"
	}
	return text
}

func (p Price) amount() string {
	known := func(amount string) bool { return amount != "" && amount != v1alpha1.Unknown }
	switch {
	case known(p.Least) && p.Least == p.Most:
		return fmt.Sprintf("%s %s/h", p.Least, p.Currency)
	case known(p.Least) && known(p.Most):
		return fmt.Sprintf("%s to %s %s/h", p.Least, p.Most, p.Currency)
	case known(p.Least):
		return fmt.Sprintf("%s %s/h where a price is known", p.Least, p.Currency)
	default:
		return "price unknown"
	}
}

// known tells whether anything is.
func (p Price) known() bool { return p.Least != "" && p.Least != v1alpha1.Unknown }
