package initializers

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Zeros fills a weight with 0.
type Zeros struct{}

// Initialize returns zeros.
func (Zeros) Initialize(shape ir.Shape, _ ir.DType, _ uint64) ([]float64, error) {
	return make([]float64, shape.Size()), nil
}

// Ones fills a weight with 1.
type Ones struct{}

// Initialize returns ones.
func (Ones) Initialize(shape ir.Shape, _ ir.DType, _ uint64) ([]float64, error) {
	return filled(shape, 1), nil
}

// Constant fills a weight with Value.
type Constant struct {
	Value float64 `keras:"value"`
}

// Initialize returns the value, repeated.
func (c Constant) Initialize(shape ir.Shape, _ ir.DType, _ uint64) ([]float64, error) {
	return filled(shape, c.Value), nil
}

func filled(shape ir.Shape, value float64) []float64 {
	out := make([]float64, shape.Size())
	for i := range out {
		out[i] = value
	}
	return out
}

// Identity makes a matrix with Gain on the main diagonal and 0 elsewhere. The shape must have two axes; it need not be square.
type Identity struct {
	Gain *float64 `keras:"gain,default=1.0"` // nil is 1
}

// Initialize returns the matrix.
func (i Identity) Initialize(shape ir.Shape, _ ir.DType, _ uint64) ([]float64, error) {
	if len(shape) != 2 {
		return nil, fmt.Errorf("initializers.Identity makes matrices only, received shape %v; use another initializer", shape)
	}
	out := make([]float64, shape.Size())
	for k := range min(shape[0], shape[1]) {
		out[k*shape[1]+k] = valueOr(i.Gain, 1)
	}
	return out, nil
}

// valueOr returns what p points to, or the default for nil.
func valueOr(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}
