// Package harvest runs cases taken from Keras's own tests: saved models with Keras's results.
//
// harvest.py runs the tests of an installed Keras under hooks and turns their calls on arrays into small saved models;
// probes.py adds cases that those tests do not reach. A case is a folder: model.keras, the inputs in.npz, and what
// Keras computed: out.npz (predict), evaluate.json (evaluate), or history.json and trained.keras (fit), with the
// targets y.npz and the weights w.npz of examples. case.json says which command it is. A selection is kept in testdata,
// packed, and the program check runs a whole folder.
package harvest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// Case is one case: a model and what Keras computed from it.
type Case struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`    // layer, op, loss, metric, optimizer, ...
	Label     string `json:"label"`   // the class or function
	Command   string `json:"command"` // predict, evaluate or fit
	Test      string `json:"test"`    // of Keras, from which the case comes
	Backend   string `json:"backend"`
	BatchSize int    `json:"batch_size"`
	Epochs    int    `json:"epochs,omitempty"`
	Half      bool   `json:"half,omitempty"` // computed in 16 bits, in part
	Quantised bool   `json:"quantised,omitempty"`

	Files map[string][]byte `json:"-"` // by name
}

// ReadCase reads a folder.
func ReadCase(folder string) (*Case, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	return newCase(filepath.Base(folder), files)
}

func newCase(name string, files map[string][]byte) (*Case, error) {
	c := &Case{Files: files}
	if err := json.Unmarshal(files["case.json"], c); err != nil {
		return nil, fmt.Errorf("%s: case.json: %w", name, err)
	}
	c.Name = name
	return c, nil
}

// Check computes the case and compares. notes lists outputs that have another element type than Keras's.
func (c *Case) Check(ctx context.Context) (notes []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("CRASH: %v\n%s", r, debug.Stack())
		}
	}()
	if c.Kind == "refuse" {
		return nil, c.refused()
	}
	switch c.Command {
	case "predict":
		return c.predict(ctx)
	case "evaluate":
		return nil, c.evaluate(ctx)
	case "fit":
		return nil, c.fit(ctx)
	}
	return nil, fmt.Errorf("command %q: expected predict, evaluate or fit", c.Command)
}

// refused demands that a file that only Python can run is refused.
func (c *Case) refused() error {
	if _, err := c.model(keras.WithoutCompile()); err == nil {
		return fmt.Errorf("a file that only Python can run is taken for a model")
	}
	return nil
}

func (c *Case) model(options ...keras.LoadModelOption) (*keras.Model, error) {
	m, err := keras.ReadModel(bytes.NewReader(c.Files["model.keras"]), int64(len(c.Files["model.keras"])), options...)
	if err != nil {
		return nil, fmt.Errorf("refused: %w", err)
	}
	return m, nil
}

// arrays reads a file of arrays for the inputs or outputs of these names.
func (c *Case) arrays(file string, names []string) (any, error) {
	raw, ok := c.Files[file]
	if !ok {
		return nil, nil
	}
	t, err := data.ReadNPZ(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if t.Len() == 1 {
		return t.Arrays[0], nil
	}
	ordered := data.Tensors{}
	for _, name := range names {
		if a := t.Get(name); !a.IsZero() && !slices.Contains(ordered.Names, name) {
			ordered.Names, ordered.Arrays = append(ordered.Names, name), append(ordered.Arrays, a)
		}
	}
	if ordered.Len() == 0 && file == "in.npz" {
		return t, nil // names of a dictionary of inputs
	}
	if ordered.Len() != t.Len() {
		return nil, fmt.Errorf("%s has the arrays %s; the model has %s", file, strings.Join(t.Names, ", "), strings.Join(names, ", "))
	}
	return ordered, nil
}

func (c *Case) source(m *keras.Model) (*data.ArraySource, error) {
	var names []string
	for _, in := range m.Inputs() {
		names = append(names, in.Name())
	}
	x, err := c.arrays("in.npz", names)
	if err != nil {
		return nil, err
	}
	y, err := c.arrays("y.npz", m.OutputNames())
	if err != nil {
		return nil, err
	}
	w, err := c.arrays("w.npz", m.OutputNames())
	if err != nil {
		return nil, err
	}
	var options []data.ArrayOption
	if w != nil {
		options = append(options, data.SampleWeight(w))
	}
	s := data.Arrays(x, y, options...)
	return s, s.Err()
}

func (c *Case) predict(ctx context.Context) (notes []string, err error) {
	m, err := c.model(keras.WithoutCompile())
	if err != nil {
		return nil, err
	}
	s, err := c.source(m)
	if err != nil {
		return nil, err
	}
	got, err := m.PredictAll(ctx, s, keras.BatchSize(c.BatchSize))
	if err != nil {
		return nil, fmt.Errorf("refused: %w", err)
	}
	raw := c.Files["out.npz"]
	want, err := data.ReadNPZ(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	names := m.OutputNames()
	if len(got) == 1 && want.Len() == 1 || !want.Get("output_0").IsZero() {
		names = want.Names // in order
	}
	if len(got) != want.Len() {
		return nil, fmt.Errorf("%d outputs instead of %d", len(got), want.Len())
	}
	bounds := predicted
	if c.Half {
		bounds = halfPrecision
	}
	for i, name := range names {
		w := want.Get(name)
		if w.IsZero() {
			return nil, fmt.Errorf("outputs %v instead of %v", names, want.Names)
		}
		if got[i].DType() != w.DType() && !c.Half {
			notes = append(notes, fmt.Sprintf("%v instead of %v", got[i].DType(), w.DType()))
		}
		if err := compareDense(bounds, got[i], w); err != nil {
			return notes, fmt.Errorf("differs: %s: %w", name, err)
		}
	}
	return notes, nil
}

func compareDense(bounds tolerance, got, want data.Array) error {
	if slices.Contains(want.Shape(), 0) || slices.Contains(got.Shape(), 0) {
		if !slices.Equal([]int(got.Shape()), []int(want.Shape())) {
			return fmt.Errorf("shape %v instead of %v", got.Shape(), want.Shape())
		}
		return nil
	}
	if !slices.Equal([]int(got.Shape()), []int(want.Shape())) {
		return fmt.Errorf("shape %v instead of %v", got.Shape(), want.Shape())
	}
	return bounds.compare(numbers(got), numbers(want))
}

func (c *Case) evaluate(ctx context.Context) error {
	m, err := c.model()
	if err != nil {
		return err
	}
	s, err := c.source(m)
	if err != nil {
		return err
	}
	logs, err := m.EvaluateLogs(ctx, s, keras.BatchSize(c.BatchSize))
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	got := map[string][]float64{}
	for _, name := range logs.Names() {
		got[name] = logs.Vector(name)
	}
	return c.compareLogs("evaluate.json", evaluated, got)
}

func (c *Case) fit(ctx context.Context) error {
	m, err := c.model()
	if err != nil {
		return err
	}
	s, err := c.source(m)
	if err != nil {
		return err
	}
	h, err := m.Fit(ctx, s, keras.Epochs(c.Epochs), keras.BatchSize(c.BatchSize), keras.Shuffle(false))
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	got := map[string][]float64{}
	for name, values := range h.Logs {
		if got[name] = values; h.Vectors[name] != nil {
			got[name] = slices.Concat(h.Vectors[name]...)
		}
	}
	if err := c.compareLogs("history.json", trained, got); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "harvest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "trained.keras")
	if err := m.Save(path); err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return compareWeights(file, c.Files["trained.keras"])
}

var notNumbers = regexp.MustCompile(`-?\b(NaN|Infinity)\b`)

func (c *Case) compareLogs(file string, bounds tolerance, got map[string][]float64) error {
	var raw map[string]any
	if err := json.Unmarshal(notNumbers.ReplaceAll(c.Files[file], []byte(`"$0"`)), &raw); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	want := map[string][]float64{}
	for name, v := range raw {
		want[name] = flatten(v)
	}
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		return fmt.Errorf("names %v instead of %v", g, w)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if len(got[name]) != len(want[name]) {
			return fmt.Errorf("differs: %s: %d numbers instead of %d", name, len(got[name]), len(want[name]))
		}
		if err := bounds.compare(got[name], want[name]); err != nil {
			return fmt.Errorf("differs: %s: %w", name, err)
		}
	}
	return nil
}
