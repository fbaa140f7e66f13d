package callbacks

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatTemplate is Python's str.format for templates whose fields are named numbers: "{epoch:02d}-{val_loss:.2f}". A
// value is an int, a float64 or a []float64, of which {name[0]} is the first number. "{{" and "}}" stand for braces;
// the conversions !s and !r and fields inside a format specification ("{loss:.{places}f}") work as in Python.
func formatTemplate(template string, value func(name string) (any, bool)) (string, error) {
	return expand(template, value, 2)
}

func expand(template string, value func(string) (any, bool), depth int) (string, error) {
	if depth < 0 {
		return "", fmt.Errorf("fields inside of fields are nested too deeply")
	}
	var b strings.Builder
	for rest := template; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		brace := rest[i]
		rest = rest[i+1:]
		if rest != "" && rest[0] == brace {
			b.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		if brace == '}' {
			return "", fmt.Errorf("single '}' in the template; write }} for a brace")
		}
		end := closing(rest)
		if end < 0 {
			return "", fmt.Errorf("'{' without a '}' in the template; write {{ for a brace")
		}
		text, err := replacement(rest[:end], value, depth)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		rest = rest[end+1:]
	}
	return b.String(), nil
}

// closing finds the brace that ends a field, skipping nested fields.
func closing(s string) int {
	open := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			open++
		case '}':
			if open == 0 {
				return i
			}
			open--
		}
	}
	return -1
}

// replacement returns the text for one field: name, [index], !conversion and :specification.
func replacement(field string, value func(string) (any, bool), depth int) (string, error) {
	name, spec, _ := strings.Cut(field, ":")
	name, conversion, converted := strings.Cut(name, "!")
	v, err := lookUp(name, value)
	if err != nil {
		return "", err
	}
	if spec, err = expand(spec, value, depth-1); err != nil {
		return "", err
	}
	if converted {
		if conversion != "s" && conversion != "r" && conversion != "a" {
			return "", fmt.Errorf("field {%s}: conversion %q is not known; use !s or !r", field, conversion)
		}
		v = plainText(v)
	}
	text, err := formatValue(v, spec)
	if err != nil {
		return "", fmt.Errorf("field {%s}: %w", field, err)
	}
	return text, nil
}

func lookUp(name string, value func(string) (any, bool)) (any, error) {
	base, index, indexed := strings.Cut(name, "[")
	v, ok := value(base)
	if !ok {
		return nil, fmt.Errorf("there is no value named %q", base)
	}
	if !indexed {
		return v, nil
	}
	vector, _ := v.([]float64)
	i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	if err != nil || !strings.HasSuffix(index, "]") || i < 0 || i >= len(vector) {
		return nil, fmt.Errorf("%q does not name a number of %q, which has %d", name, base, len(vector))
	}
	return vector[i], nil
}

// plainText is Python's str of a value.
func plainText(v any) string {
	switch v := v.(type) {
	case float64:
		return repr(v)
	case []float64:
		return reprList(v)
	}
	return fmt.Sprint(v)
}

// formatSpec is a format specification of Python: [[fill]align][sign][z][#][0][width][grouping][.precision][type].
type formatSpec struct {
	fill      string
	align     byte // 0 where not given
	sign      byte
	noNegZero bool
	alternate bool
	width     int
	grouping  string
	precision int // -1 where not given
	kind      byte
}

const alignments = "<>=^"

func parseSpec(spec string) (formatSpec, error) {
	f := formatSpec{fill: " ", sign: '-', precision: -1}
	rest := spec
	if r, n := utf8.DecodeRuneInString(rest); n > 0 && len(rest) > n && strings.IndexByte(alignments, rest[n]) >= 0 {
		f.fill, f.align, rest = string(r), rest[n], rest[n+1:]
	} else if rest != "" && strings.IndexByte(alignments, rest[0]) >= 0 {
		f.align, rest = rest[0], rest[1:]
	}
	filled := len(spec)-len(rest) > 1
	take := func(set string) byte {
		if rest != "" && strings.IndexByte(set, rest[0]) >= 0 {
			c := rest[0]
			rest = rest[1:]
			return c
		}
		return 0
	}
	if c := take("+- "); c != 0 {
		f.sign = c
	}
	f.noNegZero = take("z") != 0
	f.alternate = take("#") != 0
	if !filled && take("0") != 0 {
		f.fill = "0"
		if f.align == 0 {
			f.align = '='
		}
	}
	var err error
	if f.width, rest, err = leadingNumber(rest, 0); err != nil {
		return f, err
	}
	if c := take(",_"); c != 0 {
		f.grouping = string(c)
	}
	if take(".") != 0 {
		if f.precision, rest, err = leadingNumber(rest, -1); err == nil && f.precision < 0 {
			err = fmt.Errorf("the format %q lacks a precision after the point", spec)
		}
		if err != nil {
			return f, err
		}
	}
	if len(rest) > 1 {
		return f, fmt.Errorf("the format %q is not valid; expected [[fill]align][sign][z][#][0][width][,][.precision][type]", spec)
	}
	if rest != "" {
		f.kind = rest[0]
	}
	return f, nil
}

// leadingNumber reads a number at the beginning of s.
func leadingNumber(s string, missing int) (n int, rest string, err error) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == 0 {
		return missing, s, nil
	}
	n, err = strconv.Atoi(s[:end])
	if err != nil || n > 1000 {
		return 0, s, fmt.Errorf("width or precision %s of the format is too large; at most 1000", s[:end])
	}
	return n, s[end:], nil
}

func formatValue(v any, spec string) (string, error) {
	if spec == "" {
		return plainText(v), nil
	}
	f, err := parseSpec(spec)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case int:
		if f.kind != 0 && strings.IndexByte("eEfFgG%", f.kind) >= 0 {
			return f.float(float64(v))
		}
		return f.integer(v)
	case float64:
		return f.float(v)
	case string:
		return f.text(v)
	}
	return "", fmt.Errorf("the format %q does not fit a list of numbers; name one of them, as in {name[0]%s}", spec, ":"+spec)
}

func (f formatSpec) integer(n int) (string, error) {
	if f.precision >= 0 {
		return "", fmt.Errorf("a precision is not allowed in the format of a whole number")
	}
	if f.noNegZero {
		return "", fmt.Errorf("z is not allowed in the format of a whole number")
	}
	base, prefix, size := 10, "", 3
	switch f.kind {
	case 0, 'd':
	case 'n':
		if f.grouping != "" {
			return "", fmt.Errorf("%q and the type n exclude each other in a format", f.grouping)
		}
	case 'b':
		base, prefix, size = 2, "0b", 4
	case 'o':
		base, prefix, size = 8, "0o", 4
	case 'x', 'X':
		base, prefix, size = 16, "0"+string(f.kind), 4
	case 'c':
		if f.sign != '-' || f.alternate || f.grouping != "" || n < 0 || n > utf8.MaxRune {
			return "", fmt.Errorf("type c of a format needs a character code, without sign, # and grouping; received %d", n)
		}
		return f.pad("", string(rune(n)), '>'), nil
	default:
		return "", fmt.Errorf("format type %q is not known for a whole number; use one of b, c, d, e, f, g, n, o, x, %%", string(f.kind))
	}
	if f.grouping == "," && base != 10 {
		return "", fmt.Errorf("the grouping \",\" does not go with the type %s of a format", string(f.kind))
	}
	digits := strconv.FormatUint(uint64(max(n, -n)), base)
	if f.kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	sign := f.signOf(n < 0)
	if f.alternate {
		sign += prefix
	}
	return f.number(sign, digits, "", size), nil
}

func (f formatSpec) float(x float64) (string, error) {
	kind := f.kind
	if f.kind == 'n' && f.grouping != "" {
		return "", fmt.Errorf("%q and the type n exclude each other in a format", f.grouping)
	}
	precision := f.precision
	if precision < 0 {
		precision = 6
	}
	a := math.Abs(x)
	var text string
	switch kind {
	case 0:
		if text = layOut(shortest(a), 'r', 0, f.alternate); f.precision >= 0 {
			text = layOut(rounded(a, max(precision, 1)), 's', max(precision, 1), f.alternate)
		}
	case 'e', 'E':
		text = scientific(a, precision)
	case 'f', 'F':
		text = fixed(a, precision)
	case '%':
		text = fixed(a*100, precision)
	case 'g', 'G', 'n':
		text = layOut(rounded(a, max(precision, 1)), 'g', max(precision, 1), f.alternate)
	default:
		return "", fmt.Errorf("format type %q is not known for a number; use one of e, f, g, n, %%", string(kind))
	}
	if f.alternate && kind != 0 && precision == 0 && !strings.Contains(text, ".") && !math.IsNaN(x) && !math.IsInf(x, 0) {
		mantissa, exponent, found := strings.Cut(text, "e") // the alternate form always has a point
		if text = mantissa + "."; found {
			text += "e" + exponent
		}
	}
	negative := math.Signbit(x) && !math.IsNaN(x)
	if f.noNegZero && strings.Trim(text, "0.e+-%") == "" {
		negative = false
	}
	if kind == '%' {
		text += "%"
	}
	if kind == 'E' || kind == 'F' || kind == 'G' {
		text = strings.ToUpper(text)
	}
	whole := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if whole < 0 {
		whole = len(text)
	}
	return f.number(f.signOf(negative), text[:whole], text[whole:], 3), nil
}

// text formats the result of a conversion.
func (f formatSpec) text(s string) (string, error) {
	if f.align == '=' && f.fill == "0" {
		f.align = 0 // a zero before the width of a text is a fill only
	}
	if f.kind != 0 && f.kind != 's' || f.sign != '-' || f.alternate || f.noNegZero || f.grouping != "" || f.align == '=' {
		return "", fmt.Errorf("the format does not fit a text; expected [[fill]align][width][.precision][s]")
	}
	if runes := []rune(s); f.precision >= 0 && f.precision < len(runes) {
		s = string(runes[:f.precision])
	}
	return f.pad("", s, '<'), nil
}

func (f formatSpec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.sign == '-':
		return ""
	}
	return string(f.sign)
}

// number joins sign, whole part (in groups of size digits) and the rest, and pads the result. Padding zeros are grouped
// too.
func (f formatSpec) number(sign, whole, rest string, size int) string {
	zeros := f.fill == "0" && f.align == '='
	grouped := f.group(whole, size)
	for zeros && f.grouping != "" && whole != "" && len(sign)+len(grouped)+len(rest) < f.width {
		whole = "0" + whole
		grouped = f.group(whole, size)
	}
	return f.pad(sign, grouped+rest, '>')
}

func (f formatSpec) group(digits string, size int) string {
	if f.grouping == "" {
		return digits
	}
	var parts []string
	for len(digits) > size {
		parts = append([]string{digits[len(digits)-size:]}, parts...)
		digits = digits[:len(digits)-size]
	}
	return strings.Join(append([]string{digits}, parts...), f.grouping)
}

func (f formatSpec) pad(sign, body string, usual byte) string {
	n := f.width - utf8.RuneCountInString(sign+body)
	if n <= 0 {
		return sign + body
	}
	align := f.align
	if align == 0 {
		align = usual
	}
	fill := func(n int) string { return strings.Repeat(f.fill, n) }
	switch align {
	case '<':
		return sign + body + fill(n)
	case '=':
		return sign + fill(n) + body
	case '^':
		return fill(n/2) + sign + body + fill(n-n/2)
	}
	return fill(n) + sign + body
}
