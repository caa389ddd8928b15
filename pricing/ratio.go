package pricing

import "math/bits"

// ratio is an exact, non-negative fraction. The zero value is what is not known, and
// what is computed from it is not known either; so is what does not fit 64 bits.
type ratio struct{ numerator, denominator uint64 }

// ratioOf is n/d, not known for a negative n or for a d that is not positive.
func ratioOf(n, d int64) ratio {
	if n < 0 || d <= 0 {
		return ratio{}
	}
	return ratio{uint64(n), uint64(d)}
}

func (r ratio) known() bool { return r.denominator != 0 }

// times multiplies.
func (r ratio) times(s ratio) ratio {
	if !r.known() || !s.known() {
		return ratio{}
	}
	across, back := gcd(r.numerator, s.denominator), gcd(s.numerator, r.denominator)
	over1, n := bits.Mul64(r.numerator/across, s.numerator/back)
	over2, d := bits.Mul64(r.denominator/back, s.denominator/across)
	if over1 != 0 || over2 != 0 {
		return ratio{}
	}
	return ratio{n, d}
}

// plus adds.
func (r ratio) plus(s ratio) ratio {
	if !r.known() || !s.known() {
		return ratio{}
	}
	common := gcd(r.denominator, s.denominator)
	over1, a := bits.Mul64(r.numerator, s.denominator/common)
	over2, b := bits.Mul64(s.numerator, r.denominator/common)
	over3, d := bits.Mul64(r.denominator, s.denominator/common)
	n, carry := bits.Add64(a, b, 0)
	if over1|over2|over3|carry != 0 {
		return ratio{}
	}
	return ratio{n, d}
}

// round is the nearest integer, halves up; false where it is not known or beyond int64.
func (r ratio) round() (int64, bool) {
	if !r.known() {
		return 0, false
	}
	n, rest := r.numerator/r.denominator, r.numerator%r.denominator
	if rest >= r.denominator-rest {
		n++
	}
	return int64(n), n <= 1<<63-1
}

// gcd is at least 1, so that it can divide; b is not 0.
func gcd(a, b uint64) uint64 {
	for a != 0 {
		a, b = b%a, a
	}
	return b
}
