package callbacks

import (
	"math"
	"strconv"
	"strings"
)

// This file writes numbers as Python does, so that files and messages are those of Keras.

// repr is Python's repr of a float: the shortest digits that read back as the same number, with an exponent if the
// decimal point is more than 3 places left of the digits or more than 16 places right of their beginning.
func repr(x float64) string { return layOut(shortest(x), 'r', 0, false) }

// reprList is Python's str of a list of floats.
func reprList(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = repr(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// fixed is Python's f"{x:.<places>f}", in which NaN is nan and infinity inf.
func fixed(x float64, places int) string {
	if word, ok := notFinite(x); ok {
		return word
	}
	return strconv.FormatFloat(x, 'f', places, 64)
}

// scientific is Python's f"{x:.<places>e}".
func scientific(x float64, places int) string {
	if word, ok := notFinite(x); ok {
		return word
	}
	return strconv.FormatFloat(x, 'e', places, 64)
}

func notFinite(x float64) (string, bool) {
	switch {
	case math.IsNaN(x):
		return "nan", true
	case math.IsInf(x, 1):
		return "inf", true
	case math.IsInf(x, -1):
		return "-inf", true
	}
	return "", false
}

// decimal is a number as digits d1 d2 d3 ... and the place of the decimal point: 0.d1d2d3 * 10^point.
type decimal struct {
	word     string // "nan" and "inf", which have no digits
	negative bool
	digits   string
	point    int
}

func shortest(x float64) decimal { return split(x, strconv.FormatFloat(math.Abs(x), 'e', -1, 64)) }

// rounded returns the number rounded to the given number of digits.
func rounded(x float64, digits int) decimal {
	return split(x, strconv.FormatFloat(math.Abs(x), 'e', digits-1, 64))
}

func split(x float64, scientific string) decimal {
	d := decimal{negative: math.Signbit(x) && !math.IsNaN(x)}
	if word, ok := notFinite(x); ok {
		d.word = strings.TrimPrefix(word, "-")
		return d
	}
	mantissa, exponent, _ := strings.Cut(scientific, "e")
	d.digits = strings.Replace(mantissa, ".", "", 1)
	n, _ := strconv.Atoi(exponent) // FormatFloat writes a number there
	d.point = n + 1
	return d
}

// layOut writes digits in Python's general form. kind 'r' is the form of repr, 'g' that of presentation type g with the
// given precision, and 's' that of a precision without a type, which keeps one place after the point. Trailing zeros
// are dropped, except in the alternate form of 'g'.
func layOut(d decimal, kind byte, precision int, alternate bool) string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	if d.word != "" {
		return sign + d.word
	}
	last := 16
	if kind == 'g' {
		last = precision
	} else if kind == 's' {
		last = precision - 1
	}
	digits := d.digits
	if !alternate {
		digits = strings.TrimRight(digits, "0")
	}
	if digits == "" {
		digits = "0"
	}
	point := d.point
	if point <= -4 || point > last {
		fraction := digits[1:]
		if fraction != "" || alternate {
			fraction = "." + fraction
		}
		return sign + digits[:1] + fraction + exponentOf(point-1)
	}
	if point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if len(digits) < point {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole, fraction := digits[:point], digits[point:]
	switch {
	case fraction != "":
		return sign + whole + "." + fraction
	case kind != 'g':
		return sign + whole + ".0"
	case alternate:
		return sign + whole + "."
	}
	return sign + whole
}

func exponentOf(e int) string {
	sign := "+"
	if e < 0 {
		sign, e = "-", -e
	}
	s := strconv.Itoa(e)
	if len(s) < 2 {
		s = "0" + s
	}
	return "e" + sign + s
}
