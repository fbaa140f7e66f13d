package layers

import (
	"encoding/json"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
)

// InputLayer declares the input of a Sequential model when it is the first of its layers. It computes nothing:
//
//	y = x
type InputLayer struct {
	Base

	Name      string `keras:"name"`
	Shape     []int  `keras:"shape,shape"`                 // of one example, without the batch axis; Unknown leaves an axis open
	DType     string `keras:"dtype,plain,default=float32"` // element type
	BatchSize int    `keras:"batch_size,null"`             // 0 leaves the batch axis open
}

// Tensor returns the symbolic input that the layer stands for.
func (l *InputLayer) Tensor() (*KerasTensor, error) {
	name := "float32"
	if l.DType != "" {
		name = l.DType
	}
	dtype, err := ParseInputDType(name)
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

// SupportsMasking reports that a mask passes through.
func (l *InputLayer) SupportsMasking() bool { return true }

// IgnoredConfig lists kinds of tensors that do not exist here.
func (l *InputLayer) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse=null", "ragged=null", "optional=null")
}

// MigrateConfig reads the shape in the form of files, with the batch axis.
func (l *InputLayer) MigrateConfig(keys map[string]json.RawMessage) error {
	for _, key := range []string{"batch_shape", "batch_input_shape"} {
		raw, ok := keys[key]
		if !ok {
			continue
		}
		delete(keys, key)
		var axes []json.RawMessage
		if json.Unmarshal(raw, &axes) != nil || len(axes) == 0 {
			return fmt.Errorf("key %q: expected a list that begins with the batch axis, received %s", key, raw)
		}
		shape, err := json.Marshal(axes[1:])
		if err != nil {
			return err
		}
		keys["batch_size"], keys["shape"] = axes[0], shape
	}
	return nil
}

// AmendConfig writes the shape in the form of files, with the batch axis.
func (l *InputLayer) AmendConfig(keys map[string]any) error {
	var batch any
	if l.BatchSize > 0 {
		batch = int64(l.BatchSize)
	}
	shape, _ := keys["shape"].([]any)
	delete(keys, "shape")
	delete(keys, "batch_size")
	keys["batch_shape"] = append([]any{batch}, shape...)
	keys["sparse"], keys["ragged"], keys["optional"] = false, false, false
	return nil
}

func init() { Register[InputLayer]() }
