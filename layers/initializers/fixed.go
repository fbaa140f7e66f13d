package initializers

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// Zeros fills a weight with 0.
type Zeros struct{}

// Initialize writes zeros.
func (Zeros) Initialize(into kernels.Array, _ uint64) error {
	clear(into.Data)
	return nil
}

// Ones fills a weight with 1.
type Ones struct{}

// Initialize writes ones.
func (Ones) Initialize(into kernels.Array, _ uint64) error {
	into.Fill(1)
	return nil
}

// Identity makes a matrix with Gain on the main diagonal and 0 elsewhere, computed as a product: as in Keras, if Gain
// is not finite in the type of the weight, the numbers off the diagonal are NaN. The shape must have two axes, but need
// not be square.
type Identity struct {
	Gain *float64 `keras:"gain,default=1.0"` // nil is 1
}

// Initialize writes the matrix.
func (i Identity) Initialize(into kernels.Array, _ uint64) error {
	shape := into.Type.Shape
	if len(shape) != 2 {
		return fmt.Errorf("initializers.Identity makes matrices only, received shape %v; use another initializer", shape)
	}
	if len(into.Data) == 0 {
		return nil
	}
	into.Fill(valueOr(i.Gain, 1))
	gain := into.Element(0)
	into.Fill(0 * gain)
	for k := range min(shape[0], shape[1]) {
		if err := into.SetFloat64s(k*shape[1]+k, []float64{gain}); err != nil {
			return err
		}
	}
	return nil
}

// valueOr returns what p points to, or the default for nil.
func valueOr(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}
