package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// loadNamed sets the weights by the variables' paths. If something does not fit, nothing is changed, unless skipping
// was requested.
func (m *Model) loadNamed(file *saving.Named, c *fileConfig) error {
	report := &LoadReport{}
	var todo []namedWeight
	used := map[string]bool{}
	var mistakes []string
	for _, v := range m.Weights() {
		if v.Size() == 0 {
			continue
		}
		w, mistake, err := findNamed(v, file)
		if err != nil {
			return err
		}
		if mistake != "" {
			mistakes = append(mistakes, mistake)
			report.Skipped = append(report.Skipped, saving.Skip{Tensor: v.Path(), Variable: v.Path(), Reason: mistake})
			continue
		}
		used[v.Path()] = true
		todo = append(todo, w)
		report.Matched = append(report.Matched, saving.Match{Tensor: v.Path(), Variable: v.Path()})
	}
	if len(mistakes) > 0 && !c.skipMismatch {
		return saving.Mismatch(mistakes)
	}
	for _, name := range file.Names {
		if !used[name] {
			report.Unused = append(report.Unused, name)
		}
	}
	m.values.Lock()
	defer m.values.Unlock()
	var scratch []byte
	for _, w := range todo {
		read := func(memory []byte) error { return file.ReadInto(w.number, memory) }
		if err := w.variable.ReadValue(w.in.DType, read, &scratch); err != nil {
			return fmt.Errorf("weight %q: %w", w.variable.Path(), err)
		}
	}
	c.done(report)
	return nil
}

// namedWeight is a variable with the index of its array in a file.
type namedWeight struct {
	variable *distribute.Variable
	number   int
	in       ir.Type
}

// findNamed finds the array of a variable. The second result says what does not fit.
func findNamed(v *distribute.Variable, file *saving.Named) (namedWeight, string, error) {
	i := slices.Index(file.Names, v.Path())
	if i < 0 {
		return namedWeight{}, fmt.Sprintf("the file has no weight %q", v.Path()), nil
	}
	t, err := file.Type(i)
	if err != nil {
		return namedWeight{}, "", fmt.Errorf("weight %q: %w", v.Path(), err)
	}
	want := v.Type().Shape
	if !want.Equal(t.Shape) && !(len(want) == 0 && t.Shape.Size() == 1) { // some writers store a scalar as a list of one
		return namedWeight{}, fmt.Sprintf("%s: the variable has shape %s, the file holds shape %s", v.Path(), layers.ShapeString(want), layers.ShapeString(t.Shape)), nil
	}
	return namedWeight{v, i, t}, "", nil
}
