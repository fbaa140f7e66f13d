// Package tfvectors reads the conformance cases that were recorded from TensorFlow's distribution strategies, and
// compares with them.
//
// A file is gzip-compressed JSON: {"topic", "cases"}. A case says what is done in pseudo-code (program), with what
// (setup, inputs), and what TensorFlow gave (expected: values, or {"error", "message"}). If deviation is set,
// TensorFlow's result is not the mathematically right one; exact is: one replica on the joined batch, or the stated
// rule.
//
// The package is for tests: it imports testing.
package tfvectors

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Case is one recorded case.
type Case struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	Program   []string       `json:"program"`
	Setup     map[string]any `json:"setup"`
	Inputs    map[string]any `json:"inputs"`
	Expected  any            `json:"expected"`
	Exact     any            `json:"exact"`
	Deviation bool           `json:"deviation"`
	Note      string         `json:"note"`
	// ReferenceCases are the numbers of the cases of TensorFlow's own tests that this one executes.
	ReferenceCases []int `json:"reference_cases"`
	Tolerance      struct{ Absolute, Relative float64 }
}

// Load reads the cases of a file.
func Load(t testing.TB, path string) []Case {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []Case }
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	return file.Cases
}

// Replicas is the number of replicas of the case, 1 where it names none.
func (c *Case) Replicas() int {
	if n, ok := c.Setup["replicas"].(float64); ok {
		return int(n)
	}
	return 1
}

// Map returns expected as an object.
func (c *Case) Map(t testing.TB) map[string]any {
	t.Helper()
	m, ok := c.Expected.(map[string]any)
	if !ok {
		t.Fatalf("%s: expected is a %T", c.ID, c.Expected)
	}
	return m
}

// Right returns exact where the case deviates or TensorFlow failed, and expected otherwise.
func (c *Case) Right() any {
	if (c.Deviation || IsError(c.Expected)) && c.Exact != nil {
		return c.Exact
	}
	return c.Expected
}

// Get follows keys (string) and indices (int) into a structure; nil where there is nothing.
func Get(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// IsError reports whether v records a failure.
func IsError(v any) bool {
	m, ok := v.(map[string]any)
	_, failed := m["error"]
	return ok && failed
}

// Number returns a recorded number.
func Number(t testing.TB, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		f, err := strconv.ParseFloat(strings.Replace(v, "Infinity", "Inf", 1), 64)
		if err == nil {
			return f
		}
	}
	t.Fatalf("%v (%T) is no number", v, v)
	return 0
}

// Floats returns shape and elements of a nested list of numbers, row-major.
func Floats(t testing.TB, v any) (shape []int, values []float64) {
	t.Helper()
	l, ok := v.([]any)
	if !ok {
		return nil, []float64{Number(t, v)}
	}
	shape = []int{len(l)}
	for i, e := range l {
		s, x := Floats(t, e)
		if i == 0 {
			shape = append(shape, s...)
		}
		values = append(values, x...)
	}
	return shape, values
}

// Values is Floats without the shape.
func Values(t testing.TB, v any) []float64 {
	t.Helper()
	_, x := Floats(t, v)
	return x
}

// Close compares got with recorded numbers, within the case's tolerance; NaN equals only a recorded NaN.
func (c *Case) Close(t testing.TB, what string, want any, got []float64) {
	t.Helper()
	c.Within(t, what, want, got, c.Tolerance.Absolute, c.Tolerance.Relative)
}

// Within is Close with a tolerance of its own.
func (c *Case) Within(t testing.TB, what string, want any, got []float64, absolute, relative float64) {
	t.Helper()
	w := Values(t, want)
	if len(w) != len(got) {
		t.Errorf("%s: %s: %d numbers, recorded are %d: %v and %v", c.ID, what, len(got), len(w), got, w)
		return
	}
	for i := range w {
		if math.IsNaN(w[i]) && math.IsNaN(got[i]) || w[i] == got[i] {
			continue
		}
		if !(math.Abs(got[i]-w[i]) <= absolute+relative*math.Abs(w[i])) {
			t.Errorf("%s: %s[%d] is %v, recorded is %v (tolerance %v absolute, %v relative)", c.ID, what, i, got[i], w[i], absolute, relative)
			return
		}
	}
}
