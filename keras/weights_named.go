package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// loadNamed gives values to the weights by the variables' paths. If something does not fit, nothing is changed, unless
// the option to skip is given.
func (m *Model) loadNamed(file *saving.Named, c *fileConfig) error {
	names, value := file.Names, file.Value
	report := &LoadReport{}
	var vars distribute.Variables
	var values []kernels.Array
	used := map[string]bool{}
	var mistakes []string
	for _, v := range m.Weights() {
		if v.Size() == 0 {
			continue
		}
		a, mistake, err := namedValue(v, names, value)
		if err != nil {
			return err
		}
		if mistake != "" {
			mistakes = append(mistakes, mistake)
			report.Skipped = append(report.Skipped, saving.Skip{Tensor: v.Path(), Variable: v.Path(), Reason: mistake})
			continue
		}
		used[v.Path()] = true
		vars, values = append(vars, v), append(values, a)
		report.Matched = append(report.Matched, saving.Match{Tensor: v.Path(), Variable: v.Path()})
	}
	if len(mistakes) > 0 && !c.skipMismatch {
		return saving.Mismatch(mistakes)
	}
	for _, name := range names {
		if !used[name] {
			report.Unused = append(report.Unused, name)
		}
	}
	if err := m.writeAll(vars, values); err != nil {
		return err
	}
	c.done(report)
	return nil
}

// namedValue finds the value of a variable; what does not fit is said in the second result.
func namedValue(v *distribute.Variable, names []string, value func(i int) (kernels.Array, error)) (kernels.Array, string, error) {
	i := slices.Index(names, v.Path())
	if i < 0 {
		return kernels.Array{}, fmt.Sprintf("the file has no weight %q", v.Path()), nil
	}
	a, err := value(i)
	if err != nil {
		return a, "", fmt.Errorf("weight %q: %w", v.Path(), err)
	}
	want := v.Type().Shape
	if len(want) == 0 && a.Type.Shape.Size() == 1 {
		a.Type.Shape = nil // some writers store a scalar as a list of one
	}
	if !want.Equal(a.Type.Shape) {
		return a, fmt.Sprintf("%s: the variable has shape %s, the file holds shape %s", v.Path(), layers.ShapeString(want), layers.ShapeString(a.Type.Shape)), nil
	}
	return a, "", nil
}
