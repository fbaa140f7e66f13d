package layers

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// InputLayer declares the input of a Sequential model when it is the first of its layers. It computes nothing:
//
//	y = x
type InputLayer struct {
	Base

	Name      string `keras:"name"`
	Shape     []int  `keras:"shape"`                 // of one example, without the batch axis; Unknown leaves an axis open
	DType     string `keras:"dtype,default=float32"` // element type
	BatchSize int    `keras:"batch_size"`            // 0 leaves the batch axis open
}

// Tensor returns the symbolic input that the layer stands for.
func (l *InputLayer) Tensor() (*KerasTensor, error) {
	name := "float32"
	if l.DType != "" {
		name = l.DType
	}
	dtype, err := ir.ParseDType(name)
	if err != nil {
		return nil, fmt.Errorf("layers: InputLayer: %w", err)
	}
	batch := Unknown
	if l.BatchSize > 0 {
		batch = l.BatchSize
	}
	label := l.Name
	if label == "" {
		label = "input_layer"
	}
	t := NewInput(label, dtype, append([]int{batch}, l.Shape...)...)
	return t, t.Err()
}

// Forward returns the input.
func (l *InputLayer) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{one(c, in)}
}

// Call applies the layer inside a trace.
func (l *InputLayer) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

// SupportsMasking reports that a mask passes through.
func (l *InputLayer) SupportsMasking() bool { return true }

func init() { Register[InputLayer]() }
