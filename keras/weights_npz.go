package keras

import (
	"fmt"
	"path/filepath"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels"
)

// SaveWeights writes all weights to a NumPy archive (.npz), one member for each variable, named by its path ("dense/kernel").
// The file is written beside and renamed, so a crash leaves the old one. Half precision weights are stored as float32.
func (m *Model) SaveWeights(path string) error {
	if filepath.Ext(path) != ".npz" {
		return fmt.Errorf("keras: SaveWeights: the extension of %q is not known; expected .npz", path)
	}
	weights, err := m.GetWeights()
	if err != nil {
		return err
	}
	if len(weights) == 0 {
		return fmt.Errorf("keras: SaveWeights: model %q has no weights; build it first, with InputShape, Build or Fit", m.Name())
	}
	t := data.Tensors{Arrays: weights}
	for _, v := range m.Weights() {
		t.Names = append(t.Names, v.Path())
	}
	return data.SaveNPZ(path, t)
}

// LoadWeights reads what SaveWeights wrote. Every weight of the model must be in the file with its shape; otherwise nothing is
// changed and the error lists what does not fit.
func (m *Model) LoadWeights(path string) error {
	t, err := data.LoadNPZ(path)
	if err != nil {
		return err
	}
	vars := m.Weights()
	if len(vars) == 0 {
		return fmt.Errorf("keras: LoadWeights: model %q has no weights yet; build it first, with InputShape, Build or Fit", m.Name())
	}
	arrays := make([]*tensor.Dense, len(vars))
	values := make([]kernels.Array, len(vars))
	for i, v := range vars {
		if arrays[i] = t.Get(v.Path()); arrays[i] == nil {
			return fmt.Errorf("keras: LoadWeights: %s has no weight %q; it has %q", path, v.Path(), t.Names)
		}
		if values[i], err = fromDense(arrays[i]); err != nil {
			return err
		}
	}
	if err := m.writeAll(vars, values); err != nil {
		return fmt.Errorf("keras: LoadWeights: %s: %w", path, err)
	}
	return nil
}
