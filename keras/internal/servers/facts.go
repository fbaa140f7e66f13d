package servers

import (
	"fmt"
	"reflect"
	"strings"
)

// mostFacts limits the size of the facts in bytes, which has room for thousands of layers.
const mostFacts = 256 << 10

// Facts joins what a process says about its program, one fact per line, for other processes to compare.
func Facts(lines []string) string {
	text := strings.Join(lines, "\n")
	return text[:min(len(text), mostFacts)]
}

// Fact returns the configuration of a value, as one line.
func Fact(v any) string { return string(appendFact(nil, reflect.ValueOf(v), factDepth)) }

// factDepth is the maximum depth of nested values.
const factDepth = 4

// appendFact adds the configuration of a value: its exported fields. Using its file format instead would link
// everything that writes files.
func appendFact(b []byte, v reflect.Value, depth int) []byte {
	switch k := v.Kind(); {
	case (k == reflect.Pointer || k == reflect.Interface) && !v.IsNil():
		return appendFact(b, v.Elem(), depth)
	case k == reflect.Struct && depth > 0:
		b = append(append(b, v.Type().String()...), '{')
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				b = append(appendFact(append(append(b, f.Name...), ':'), v.Field(i), depth-1), ' ')
			}
		}
		return append(b, '}')
	case k == reflect.Slice && depth > 0:
		for i := range min(v.Len(), 64) {
			b = append(appendFact(b, v.Index(i), depth-1), ' ')
		}
		return fmt.Appendf(b, "(%d)", v.Len())
	case k >= reflect.Bool && k <= reflect.Complex128 || k == reflect.String:
		return fmt.Appendf(b, "%v", v)
	case k == reflect.Invalid:
		return append(b, "nil"...)
	}
	return append(b, v.Type().String()...)
}

// FactsDiffer returns an error if the facts of two processes differ.
func FactsDiffer(own, other, who string) error {
	if own == other {
		return nil
	}
	a, b := strings.Split(own, "\n"), strings.Split(other, "\n")
	i := 0
	for i < len(a)-1 && i < len(b)-1 && a[i] == b[i] {
		i++
	}
	here, there := parting(a[i], b[i])
	return fmt.Errorf("this process has %q, and %s has %q; run the same program, with the same options and data, everywhere", here, who, there)
}

// parting cuts two long lines to the surroundings of the first difference.
func parting(a, b string) (string, string) {
	const before, most = 60, 160
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	cut := func(s string) string {
		from := 0
		if len(s) > most && at > before {
			from = at - before
		}
		out := s[from:min(len(s), from+most)]
		if from > 0 {
			first, _, _ := strings.Cut(s, " ")
			out = first + " ..." + out
		}
		if from+most < len(s) {
			out += "..."
		}
		return out
	}
	return cut(a), cut(b)
}
