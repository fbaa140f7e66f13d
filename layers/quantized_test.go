package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// doubled is a user's layer.
type doubled struct{ layers.Dense }

// TestQuantizingIsRefusedWithAReason passes Quantize what it does not support, and inconsistent configurations.
func TestQuantizingIsRefusedWithAReason(t *testing.T) {
	built := func(l layers.Layer) layers.Layer {
		_, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
		require.NoError(t, err)
		return l
	}
	twice := built(&layers.Dense{Units: 3}).(*layers.Dense)
	require.NoError(t, twice.Quantize("int8"))
	for want, err := range map[string]error{
		"it is not built yet":               (&layers.Dense{Units: 3}).Quantize("int8"),
		"it is quantized already":           twice.Quantize("int4"),
		`unknown mode "int16"`:              built(&layers.Dense{Units: 3}).(*layers.Dense).Quantize("int16"),
		"received a nil":                    built(&layers.Dense{Units: 3}).(*layers.Dense).Quantize((*quantizers.Int8QuantizationConfig)(nil)),
		"a type that embeds another layer":  built(&doubled{layers.Dense{Units: 3}}).(*doubled).Quantize("int8"),
		"does not go with computing in fl":  built(&layers.Dense{Units: 3, DType: "float16"}).(*layers.Dense).Quantize("int8"),
		"is not built yet, so that there a": (&layers.Embedding{InputDim: 3, OutputDim: 2}).Quantize("int8"),
		"so that there are no weights to q": (&layers.ReversibleEmbedding{InputDim: 3, OutputDim: 2}).Quantize("int8"),
		"there are no weights to quantize":  (&layers.EinsumDense{Equation: "ab,bc->ac", OutputShape: []int{3}}).Quantize("int8"),
	} {
		require.ErrorContains(t, err, want)
	}
	for want, l := range map[string]layers.Layer{
		`unknown mode "int7"`:      &layers.Dense{Units: 3, DType: "int7_from_float32"},
		`unknown dtype policy`:     &layers.Dense{Units: 3, DType: "int8_from_float31"},
		`the setting "0"`:          &layers.Dense{Units: 3, DType: "int4/0_from_float32"},
		`the setting "x"`:          &layers.Dense{Units: 3, DType: "int4/x_from_float32"},
		"is quantized itself":      &layers.Dense{Units: 3, DType: "int8_from_int8_from_float32"},
		"expected gptq/bits/group": &layers.Dense{Units: 3, DType: "gptq_from_float32"},
		"leave one out":            &layers.Dense{Units: 3, DType: "int8_from_float32", QuantizationConfig: &quantizers.Int4QuantizationConfig{}},
		"BlockSize must be":        &layers.Dense{Units: 3, DType: "int4_from_float32", QuantizationConfig: &quantizers.Int4QuantizationConfig{BlockSize: -5}},
		"does not go with computi": &layers.Dense{Units: 3, DType: "int8_from_mixed_float16"},
	} {
		_, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
		require.ErrorContains(t, err, want)
	}
}

// TestGroupsAreNeighbours: if the product requires groups of adjacent inputs, other groups are rejected, as in a file
// whose g_idx does not match its configuration; groups of unequal size are always rejected.
func TestGroupsAreNeighbours(t *testing.T) {
	for _, c := range []struct {
		dtype   string
		config  quantizers.Config
		refused bool
	}{
		{"gptq/4/2_from_float32", &quantizers.GPTQConfig{GroupSize: 2}, true},
		{"gptq/4/2_from_float32", &quantizers.GPTQConfig{GroupSize: 2, ActivationOrder: true}, false},
		{"gptq/4/2_from_float32", nil, false},
		{"gptq/8/2_from_float32", &quantizers.GPTQConfig{GroupSize: 2, WeightBits: 8}, true},
		{"awq/4/2_from_float32", &quantizers.AWQConfig{GroupSize: 2}, true},
	} {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, DType: c.dtype, QuantizationConfig: c.config}}, keras.InputShape(5))
		require.NoError(t, err)
		for _, v := range m.Weights() {
			if v.Name() != "g_idx" {
				continue
			}
			value := func(groups ...float64) kernels.Array {
				a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, groups)
				require.NoError(t, err)
				return a
			}
			first, err := v.Value()
			require.NoError(t, err)
			require.Equal(t, []float64{0, 0, 1, 1, 2}, first.Float64s())
			require.NoError(t, v.SetValue(value(0, 0.5, 1, 1.5, 2)))
			read := func(a kernels.Array) error {
				return v.ReadValue(a.Type.DType, func(memory []byte) error { copy(memory, a.Data); return nil }, new([]byte))
			}
			for _, set := range []func(kernels.Array) error{v.SetValue, read} {
				err := set(value(0, 0, 1, 2, 1))
				if !c.refused {
					require.NoError(t, err, "%+v", c)
					require.ErrorContains(t, set(value(0, 0, 1, 2, 2)), "g_idx: group 1 has 1 inputs; expected 2: groups have 2 inputs each, and the last what is left")
					require.ErrorContains(t, set(value(0, 0, 1, 3, 1)), "g_idx: input 3 is of group 3; expected groups from 0 to 2")
					continue
				}
				require.ErrorContains(t, err, "g_idx: input 3 is of group 2, expected 1: groups are 2 neighbouring inputs each")
			}
		}
	}
}

// TestLoraIsMergedInTheTypeOfTheComputation: when Dense in 4-bit blocks under mixed precision is saved, the numbers
// that its integers represent are rounded to 16 bits before LoRA's change is added. The numbers are Keras's.
func TestLoraIsMergedInTheTypeOfTheComputation(t *testing.T) {
	l := &layers.Dense{Units: 4, NoBias: true, DType: "mixed_bfloat16"}
	_, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(6))
	require.NoError(t, err)
	set := func(name string, modulus, first int, divisor float64) {
		for _, v := range layers.OwnWeights(l) {
			if v.Name() != name {
				continue
			}
			values := make([]float64, v.Type().Shape.Size())
			for i := range values {
				values[i] = float64((i+first)*37%modulus-modulus/2) / divisor
			}
			a, err := kernels.FromFloat64s(ir.Float32, v.Type().Shape, values)
			require.NoError(t, err)
			require.NoError(t, v.SetValue(a))
			return
		}
		t.Fatalf("no weight %s", name)
	}
	set("kernel", 41, 0, 23)
	require.NoError(t, l.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: 2}))
	require.NoError(t, l.EnableLora(1))
	set("lora_kernel_a", 7, 0, 3)
	set("lora_kernel_b", 5, 1, 7)
	values, err := layers.FileValues(l)
	require.NoError(t, err)
	for v, a := range values {
		switch v.Name() {
		case "kernel":
			require.Equal(t, []float64{120, 119, -121, -120, -120, 120, 119, -9, -123, -120, 120, 119}, a.Float64s())
		case "kernel_scale":
			require.InDeltaSlice(t, []float64{0.0725911557674408, 0.030563313513994217, 0.05257317051291466, 0.04000496864318848, 0.07239583879709244, 0.0852244645357132, 0.06604663282632828,
				0.033820074051618576, 0.040169280022382736, 0.08509425073862076, 0.06617684662342072, 0.0787450447678566}, a.Float64s(), 1e-7)
		case "kernel_zero":
			require.Equal(t, []float64{4, -6, -6, 1, -1, -1, 5, -8, 7, -2, -3, 1}, a.Float64s())
		}
	}
	require.Len(t, values, 3)
}
