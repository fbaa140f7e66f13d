package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/data"
)

// GetWeights returns copies of all weights as arrays, in the order of Weights.
func (m *Model) GetWeights() ([]data.Array, error) { return m.WeightArrays() }

// SetWeights replaces all weights. Where the number or a shape is wrong nothing is changed.
func (m *Model) SetWeights(weights []data.Array) error {
	for i, w := range weights {
		if err := w.Check(); err != nil {
			return fmt.Errorf("keras: SetWeights: weight %d: %w", i, err)
		}
	}
	return m.SetWeightArrays(weights)
}
