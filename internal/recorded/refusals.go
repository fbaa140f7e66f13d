package recorded

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Refusals are values that Keras takes in configurations, and that are refused here: lines of a file, each a pattern of
// path.Match for the name of a key, and a value in JSON or * for any, as in "*.dropout -1". What follows a # says why.
type Refusals [][2]string

// LoadRefusals reads the file.
func LoadRefusals(t testing.TB, file string) Refusals {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out Refusals
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out = append(out, [2]string{name, strings.TrimSpace(value)})
		}
	}
	return out
}

// otherType are errors of values that are of another type than the key's, which Python finds out where it computes with
// them, if ever: any value is true or false to it.
var otherType = regexp.MustCompile(`expected (a number|a whole number|true or false|a string|an object)( with .*)?, received `)

// Allow reports whether an error may refuse a value under a key ("Dense.units").
func (r Refusals) Allow(name, value string, err error) bool {
	if value != "null" && value != `"(missing)"` && value != "true" && otherType.MatchString(err.Error()) {
		return true
	}
	for _, line := range r {
		if fits, err := path.Match(line[0], name); err == nil && fits && (line[1] == value || line[1] == "*") {
			return true
		}
	}
	return false
}
