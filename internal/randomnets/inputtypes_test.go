package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// typedCase is a layer on inputs of one type, and what Keras makes of it.
type typedCase struct {
	Class, Type string
	Object      json.RawMessage
	Error       string
	Inputs      []typed
	Outputs     []typed
}

// otherInputs are layers whose results of whole numbers or bools are not Keras's, and why.
var otherInputs = map[string]string{
	"Equalization": filters, "STFTSpectrogram": filters, "Conv1D": filters, "Conv2D": filters, "Conv3D": filters, "Conv1DTranspose": filters, "Conv2DTranspose": filters,
	"Conv3DTranspose": filters, "SeparableConv1D": filters, "SeparableConv2D": filters, "DepthwiseConv1D": filters, "DepthwiseConv2D": filters, "ConvLSTM1D": filters,
	"ConvLSTM2D": filters, "ConvLSTM3D": filters, "AveragePooling1D": filters, "AveragePooling2D": filters, "AveragePooling3D": filters, "Average": filters,
	"Attention": bools, "Softmax": bools, "GroupNormalization": whole, "LayerNormalization": whole, "RMSNormalization": whole, "SpectralNormalization": whole,
	"RandomBrightness": "Keras makes a whole number of what it adds; here images become floats",
	"MixUp":            training, "RandomColorDegeneration": training, "RandomColorJitter": training, "RandomContrast": training, "RandomHue": training, "RandomInvert": training,
	"RandomPosterization": training, "RandomSaturation": training,
}

const (
	filters  = "TensorFlow and NumPy refuse, or compute in float64; with JAX the results are float32, as here"
	bools    = "all backends refuse bools, of which floats are made here"
	whole    = "Keras makes whole numbers of what it normalized, and of weights"
	training = "results have the type that they have in training; Keras hands inputs on in inference"
)

// TestInputTypes compares layers on inputs of every type with Keras: whether they are taken, and the types and the
// numbers of the results. INPUT_TYPES is another file of cases.
func TestInputTypes(t *testing.T) {
	file := "testdata/inputtypes.json.gz"
	if other := os.Getenv("INPUT_TYPES"); other != "" {
		file = other
	}
	refused, classes := 0, map[string]bool{}
	for _, c := range recorded.JSON[[]typedCase](t, file) {
		classes[c.Class] = true
		if why := otherInputs[c.Class]; why != "" && (c.Inputs[0].DType == "bool" || why != bools && strings.Contains(c.Type, "int")) {
			continue
		}
		if c.Class == "RandomCrop" && strings.HasSuffix(c.Type, "float16") { // Keras hands images in 16 bits on, without the policy's type
			continue
		}
		if strings.HasSuffix(c.Class, "Normalization") && c.Type == "bfloat16" { // Keras computes parts of it in 16 bits
			continue
		}
		err := c.compare()
		if c.Error != "" {
			if refused++; err == nil {
				t.Errorf("%s of %s: taken, Keras says %q", c.Class, c.Type, c.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s of %s: %v", c.Class, c.Type, err)
		}
	}
	t.Logf("%d classes, %d refused", len(classes), refused)
	require.Greater(t, len(classes), 120)
}

func (c *typedCase) compare() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	l, err := layers.FromObject(c.Object)
	if err != nil {
		return err
	}
	var inputs []*layers.KerasTensor
	var given []any
	for i, x := range c.Inputs {
		a, err := x.array()
		if err != nil {
			return err
		}
		inputs = append(inputs, layers.NewInput(fmt.Sprint("x", i), a.Type.DType, append([]int{layers.Unknown}, x.Shape[1:]...)...))
		given = append(given, a)
	}
	y := layers.ApplyAll(l, inputs...)
	if err := y[0].Err(); err != nil {
		return err
	}
	m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(y...))
	if err != nil {
		return err
	}
	for _, w := range m.Weights() {
		if err := fixed(w); err != nil {
			return err
		}
	}
	var x any = given
	if len(given) == 1 {
		x = given[0]
	}
	got, err := m.PredictAll(context.Background(), data.Arrays(x, nil))
	if err != nil || c.Error != "" {
		return err
	}
	if len(got) != len(c.Outputs) {
		return fmt.Errorf("%d results, Keras has %d", len(got), len(c.Outputs))
	}
	for i, w := range c.Outputs {
		if got[i].Type.DType.String() != w.DType || fmt.Sprint(got[i].Shape()) != fmt.Sprint(w.Shape) {
			return fmt.Errorf("result %d is %v, Keras's %s%v", i, got[i].Type, w.DType, w.Shape)
		}
		if text := w.differs(got[i].Float64s()); text != "" {
			return fmt.Errorf("result %d %s", i, text)
		}
	}
	return nil
}

// fixed gives a floating weight the numbers of inputtypes.py.
func fixed(w *distribute.Variable) error {
	t := w.Type()
	if !t.DType.IsFloat() {
		return nil
	}
	n := t.Shape.Size()
	values := make([]float64, n)
	for k := range values {
		values[k] = float64((k*5+n)%7+1) / 8
	}
	a, err := kernels.FromFloat64s(t.DType, t.Shape, values)
	if err != nil {
		return err
	}
	return w.Assign(a)
}
