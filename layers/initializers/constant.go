package initializers

import (
	"encoding/json"
	"fmt"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Constant fills a weight with Value or, if Values is set, with its numbers: for example a matrix of pretrained
// embeddings.
//
//	matrix, err := data.ToArray(rows) // [][]float32, a row for each word
//	words := &layers.Embedding{InputDim: 20000, OutputDim: 100, Frozen: true, EmbeddingsInitializer: initializers.Constant{Values: matrix}}
//
// Values has the shape of the weight, or one that broadcasts to it by NumPy's rules; any other shape is an error when
// the weight is created. The numbers are converted to the element type of the weight. As in Keras, files hold Values as
// text in the configuration, in addition to the weight itself.
type Constant struct {
	Value  float64       `keras:"value"`
	Values kernels.Array `keras:"-"` // takes the place of Value, and its key in files
}

// Initialize repeats the value, or broadcasts the values to the shape of the weight.
func (c Constant) Initialize(into kernels.Array, _ uint64) error {
	if c.Values.IsZero() {
		into.Fill(c.Value)
		return nil
	}
	want, have := into.Type.Shape, c.Values.Type.Shape
	if s, err := ir.BroadcastShapes(want, have); err != nil || !s.Equal(want) {
		return fmt.Errorf("initializers.Constant: Values have shape %v and the weight %v; expected the shape of the weight, or one that broadcasts to it", have, want)
	}
	given := c.Values.Float64s()
	if have.Equal(want) {
		return into.SetFloat64s(0, given)
	}
	values := make([]float64, want.Size())
	for i := range values {
		values[i] = given[broadcastIndex(i, want, have)]
	}
	return into.SetFloat64s(0, values)
}

// broadcastIndex returns the index in an array of shape from of element i of its broadcast to a shape.
func broadcastIndex(i int, to, from ir.Shape) int {
	index, step := 0, 1
	for axis := len(to) - 1; axis >= 0; axis-- {
		at := i % to[axis]
		i /= to[axis]
		if own := axis - (len(to) - len(from)); own >= 0 {
			if from[own] != 1 {
				index += at * step
			}
			step *= from[own]
		}
	}
	return index
}

// AmendConfig writes Values as Keras writes an array.
func (c Constant) AmendConfig(keys map[string]any) error {
	if c.Values.IsZero() {
		return nil
	}
	keys["value"] = config.ArrayObject(c.Values.Type.DType.String(), c.Values.Type.Shape, c.Values.Float64s())
	return nil
}

// MigrateConfig reads an array, or a list of numbers, under the key of the value.
func (c *Constant) MigrateConfig(keys map[string]json.RawMessage) error {
	shape, values, dtype, err := config.ReadArray(keys["value"])
	if err != nil {
		return fmt.Errorf("key \"value\": %w", err)
	}
	if shape == nil {
		return nil // a number
	}
	delete(keys, "value")
	d := ir.Float32 // of a plain list
	if dtype != "" {
		if d, err = ir.ParseDType(dtype); err != nil {
			return fmt.Errorf("key \"value\": %w", err)
		}
	}
	c.Values, err = kernels.FromFloat64s(d, shape, values)
	return err
}
