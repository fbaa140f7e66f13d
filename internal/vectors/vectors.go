// Package vectors holds numbers computed by real Keras, and the few helpers tests need to compare against them.
//
// Each set is one gzip-compressed JSON file under testdata, produced by the script of the same name under gen (see
// README.md there for the format and for what each set contains). The files are embedded, so a test in any package can
// load a set whatever its working directory is:
//
//	set := vectors.Load(t, "losses")
//	for _, c := range set.Cases {
//		t.Run(c.Name, func(t *testing.T) {
//			predictions := c.Input(t, "y_pred")
//			...
//			c.Close(t, "loss", got, shape, c.Output(t, "loss"))
//		})
//	}
//
// The package is for tests: it imports testing.
package vectors

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"sync"
	"testing"
)

//go:embed testdata/*.json.gz
var files embed.FS

// File is one set of cases.
type File struct {
	// Generator is the script under gen that produced the set.
	Generator string `json:"generator"`
	// Versions names the versions of Python, Keras, NumPy and the backend used.
	Versions map[string]string `json:"versions"`
	// Seed is the root of every random number in the set.
	Seed int64 `json:"seed"`
	// Cases in the order of the generator.
	Cases []Case `json:"cases"`
}

// Case is one configuration and what Keras computed from it. What the arrays mean in each set is in README.md.
type Case struct {
	// Name is unique in the set and ends in "/" + DType.
	Name string `json:"name"`
	// Class is Keras's class name, for example "Conv2D"; empty where the case is no object.
	Class string `json:"class"`
	// Config is the object's get_config() in the form model.to_json() writes.
	Config json.RawMessage `json:"config"`
	// DType is the floating type the case was computed in: "float32" or "float64" (or a policy such as
	// "mixed_bfloat16").
	DType string `json:"dtype"`

	Inputs    Arrays `json:"inputs"`
	Outputs   Arrays `json:"outputs"`
	Gradients Arrays `json:"gradients"`
	Weights   Arrays `json:"weights"`

	// Extra holds whatever else the set records, see README.md.
	Extra json.RawMessage `json:"extra"`

	// RTol and ATol are the tolerances of the case: |got-want| <= ATol + RTol*|want|. An Array may carry a wider ATol.
	RTol float64 `json:"rtol"`
	ATol float64 `json:"atol"`
}

// Array is a dense row-major array.
type Array struct {
	// Name is the role of the array in its case. Names need not be unique in a list (optimizer slots are not).
	Name string `json:"name"`
	// Shape is empty for a scalar.
	Shape []int `json:"shape"`
	// DType is the type in Keras: "float32", "float64", "bfloat16", "float16", "int32", "int64", "bool", ...
	DType string `json:"dtype"`
	// Data holds the values; booleans are 0 and 1. Values of a float32 array are exactly representable in float32.
	Data []float64 `json:"-"`
	// ATol is the absolute tolerance for this array, 0 where the one of the case applies.
	ATol float64 `json:"atol"`
}

// UnmarshalJSON reads an array, with "NaN", "Infinity" and "-Infinity" as strings among its numbers.
func (a *Array) UnmarshalJSON(text []byte) error {
	type plain Array
	var raw struct {
		plain
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*a = Array(raw.plain)
	size := 1
	for _, d := range a.Shape {
		size *= d
	}
	if len(raw.Data) != size {
		return fmt.Errorf("array %q: shape %v needs %d values, the file holds %d", a.Name, a.Shape, size, len(raw.Data))
	}
	a.Data = make([]float64, size)
	for i, value := range raw.Data {
		v, err := number(value)
		if err != nil {
			return fmt.Errorf("array %q, value %d: %w", a.Name, i, err)
		}
		if a.DType == "float32" {
			v = float64(float32(v))
		}
		a.Data[i] = v
	}
	return nil
}

func number(value json.RawMessage) (float64, error) {
	switch string(value) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	var v float64
	err := json.Unmarshal(value, &v)
	return v, err
}

// Float32 returns the values converted to float32.
func (a Array) Float32() []float32 {
	out := make([]float32, len(a.Data))
	for i, v := range a.Data {
		out[i] = float32(v)
	}
	return out
}

// Ints returns the values converted to int; it is meant for integer and boolean arrays.
func (a Array) Ints() []int {
	out := make([]int, len(a.Data))
	for i, v := range a.Data {
		out[i] = int(v)
	}
	return out
}

// Arrays is an ordered list of named arrays.
type Arrays []Array

// Get returns the first array of that name.
func (l Arrays) Get(name string) (Array, bool) {
	for _, a := range l {
		if a.Name == name {
			return a, true
		}
	}
	return Array{}, false
}

// Names lists the names in order.
func (l Arrays) Names() []string {
	out := make([]string, len(l))
	for i, a := range l {
		out[i] = a.Name
	}
	return out
}

func (l Arrays) must(t testing.TB, group, name string) Array {
	t.Helper()
	a, ok := l.Get(name)
	if !ok {
		t.Fatalf("vectors: the case has no %s %q, it has %v", group, name, l.Names())
	}
	return a
}

// Input returns the named input and fails the test when there is none.
func (c *Case) Input(t testing.TB, name string) Array {
	t.Helper()
	return c.Inputs.must(t, "input", name)
}

// Output returns the named output and fails the test when there is none.
func (c *Case) Output(t testing.TB, name string) Array {
	t.Helper()
	return c.Outputs.must(t, "output", name)
}

// Gradient returns the named gradient and fails the test when there is none.
func (c *Case) Gradient(t testing.TB, name string) Array {
	t.Helper()
	return c.Gradients.must(t, "gradient", name)
}

// Weight returns the first weight of that name and fails the test when there is none.
func (c *Case) Weight(t testing.TB, name string) Array {
	t.Helper()
	return c.Weights.must(t, "weight", name)
}

// DecodeConfig reads the configuration into value and fails the test when it does not fit.
func (c *Case) DecodeConfig(t testing.TB, value any) {
	t.Helper()
	decode(t, "config", c.Config, value)
}

// DecodeExtra reads Extra into value and fails the test when it does not fit.
func (c *Case) DecodeExtra(t testing.TB, value any) {
	t.Helper()
	decode(t, "extra", c.Extra, value)
}

func decode(t testing.TB, what string, text json.RawMessage, value any) {
	t.Helper()
	if len(text) == 0 {
		t.Fatalf("vectors: the case has no %s", what)
	}
	if err := json.Unmarshal(text, value); err != nil {
		t.Fatalf("vectors: %s does not fit %T: %v", what, value, err)
	}
}

// Close compares got, of the given shape, with want under the tolerances of the case.
func (c *Case) Close(t testing.TB, name string, got []float64, shape []int, want Array) bool {
	t.Helper()
	if !sameShape(shape, want.Shape) {
		t.Errorf("%s: shape %v, Keras has %v", name, shape, want.Shape)
		return false
	}
	return AllClose(t, name, got, want, c.RTol, max(c.ATol, want.ATol))
}

// AllClose checks |got-want| <= atol + rtol*|want| element by element and reports the worst one. A NaN on either side
// fails; an infinity passes only against the same infinity. got must have as many values as want.
func AllClose(t testing.TB, name string, got []float64, want Array, rtol, atol float64) bool {
	t.Helper()
	if len(got) != len(want.Data) {
		t.Errorf("%s: %d values, Keras has %d (shape %v)", name, len(got), len(want.Data), want.Shape)
		return false
	}
	worst, excess, bad := -1, -1.0, 0
	for i, w := range want.Data {
		over := excessOf(got[i], w, rtol, atol)
		if over <= 1 {
			continue
		}
		bad++
		if over > excess {
			worst, excess = i, over
		}
	}
	if bad == 0 {
		return true
	}
	t.Errorf("%s: %d of %d values differ; worst at %v: got %v, Keras has %v, difference %.3g is %.3g times the tolerance (rtol %g, atol %g)",
		name, bad, len(got), indexOf(worst, want.Shape), got[worst], want.Data[worst], math.Abs(got[worst]-want.Data[worst]), excess, rtol, atol)
	return false
}

// excessOf is the difference in units of the tolerance; at most 1 means that the two agree.
func excessOf(got, want, rtol, atol float64) float64 {
	if math.IsNaN(got) || math.IsNaN(want) {
		return math.Inf(1)
	}
	if math.IsInf(got, 0) || math.IsInf(want, 0) {
		if got == want {
			return 0
		}
		return math.Inf(1)
	}
	diff, tolerance := math.Abs(got-want), atol+rtol*math.Abs(want)
	if diff == 0 {
		return 0
	}
	if !(diff <= tolerance) {
		if tolerance <= 0 {
			return math.MaxFloat64
		}
		return max(diff/tolerance, math.Nextafter(1, 2))
	}
	return diff / tolerance
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// indexOf turns a flat position into one index per axis.
func indexOf(flat int, shape []int) []int {
	out := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = flat % shape[i]
		flat /= shape[i]
	}
	return out
}

var cache sync.Map // name -> func() (*File, error)

// Load returns the named set ("losses" for testdata/losses.json.gz) and fails the test when it cannot be read. The set
// is decoded once per process and shared: treat it as read-only.
func Load(t testing.TB, name string) *File {
	t.Helper()
	once, _ := cache.LoadOrStore(name, sync.OnceValues(func() (*File, error) { return read(name) }))
	file, err := once.(func() (*File, error))()
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	return file
}

// Sets lists the names that Load accepts, sorted.
func Sets() []string {
	entries, err := files.ReadDir("testdata")
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json.gz"))
	}
	return names
}

func read(name string) (*File, error) {
	packed, err := files.ReadFile(path.Join("testdata", name+".json.gz"))
	if err != nil {
		return nil, fmt.Errorf("no set %q; there are %v", name, Sets())
	}
	return decodeFile(name, packed)
}

func decodeFile(name string, packed []byte) (*File, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("set %q: %w", name, err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		return nil, fmt.Errorf("set %q: %w", name, err)
	}
	file := new(File)
	if err := json.Unmarshal(text, file); err != nil {
		return nil, fmt.Errorf("set %q: %w", name, err)
	}
	return file, nil
}
