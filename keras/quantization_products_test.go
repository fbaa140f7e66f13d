package keras_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// randomly gives the variables random values, and returns them by name.
func randomly(t *testing.T, r *rand.Rand, m *keras.Model) map[string][]float64 {
	out := map[string][]float64{}
	for _, v := range m.Weights() {
		values := make([]float64, v.Type().Shape.Size())
		for i := range values {
			values[i] = float64(float32(r.NormFloat64()))
		}
		a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, values)
		require.NoError(t, err)
		require.NoError(t, v.SetValue(a))
		out[v.Name()] = values
	}
	return out
}

// quantizedWeights returns the values of a model's variables by name.
func quantizedWeights(t *testing.T, m *keras.Model) map[string]kernels.Array {
	out := map[string]kernels.Array{}
	for _, v := range m.Weights() {
		a, err := v.Value()
		require.NoError(t, err)
		out[v.Name()] = a
	}
	return out
}

// columnsOf returns the numbers that integers (rows, columns) with a scale for each column represent. The integers have
// 8 bits, or 4 bits packed along an axis.
func columnsOf(t *testing.T, w, scale kernels.Array, rows, columns, packed int) []float64 {
	if packed >= 0 {
		var err error
		w, err = quantizers.UnpackInt4(w, []int{rows, columns}[packed], packed)
		require.NoError(t, err)
	}
	values, by := w.Float64s(), scale.Float64s()
	for i := range values {
		values[i] /= by[i%columns]
	}
	return values
}

// requireProduct checks that y is the product of x (rows of n) with a matrix (n, columns), in float32.
func requireProduct(t *testing.T, x, matrix, y []float64, n, columns int, what string) {
	t.Helper()
	for i, got := range y {
		want, most := 0.0, 0.0
		for k, v := range x[i/columns*n:][:n] {
			w := v * matrix[k*columns+i%columns]
			want, most = want+w, most+math.Abs(w)
		}
		require.InDelta(t, want, got, 2e-6*most+1e-6, "%s: element %d", what, i)
	}
}

// TestFloatsTimesIntegers: products of floats with matrices of integers that have one scale per column agree with
// float64, for matrices of all sizes and odd lengths.
func TestFloatsTimesIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	for try := range 24 {
		n, columns, batch := 1+r.IntN(90), 1+r.IntN(90), 1+r.IntN(9)
		if try%3 == 0 { // a larger size
			n, columns = 200+r.IntN(90), 330+r.IntN(90)
		}
		for mode, how := range map[string]any{"int8": &quantizers.Int8QuantizationConfig{WeightsOnly: true}, "int4": &quantizers.Int4QuantizationConfig{BlockSize: -1}} {
			packed := map[string]int{"int8": -1, "int4": 1}[mode]
			for kind, l := range map[string]layers.Layer{"Dense": &layers.Dense{Units: columns, NoBias: true},
				"EinsumDense": &layers.EinsumDense{Equation: "ab,bc->ac", OutputShape: []int{columns}}} {
				what := fmt.Sprintf("%s, %s of %d to %d, %d examples", mode, kind, n, columns, batch)
				m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(n))
				require.NoError(t, err)
				randomly(t, r, m)
				require.NoError(t, m.Quantize(how))
				x := make([]float32, batch*n)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				y, err := m.PredictOnBatch(t.Context(), data.Arrays(shaped(x, batch, n), nil))
				require.NoError(t, err)
				w := quantizedWeights(t, m)
				requireProduct(t, floatsOf(x), columnsOf(t, w["kernel"], w["kernel_scale"], n, columns, packed), y.Float64s(), n, columns, what)
			}
		}
	}
}

// TestScoresOfTables: vectors that go back through a table of integers, or through a separate matrix, with activations
// that are not quantized.
func TestScoresOfTables(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	for try := range 12 {
		words, length, batch := 1+r.IntN(200), 1+r.IntN(60), 1+r.IntN(9)
		if try%3 == 0 {
			words, length = 600+r.IntN(90), 120+r.IntN(30)
		}
		for mode, how := range map[string]any{"int8": &quantizers.Int8QuantizationConfig{WeightsOnly: true}, "int4": &quantizers.Int4QuantizationConfig{BlockSize: -1}} {
			for _, untied := range []bool{false, true} {
				l := &layers.ReversibleEmbedding{InputDim: words, OutputDim: length, UntiedWeights: untied}
				ids, vectors := keras.Input(keras.Shape(), keras.DType("int32")), keras.Input(keras.Shape(length))
				m, err := keras.NewFunctional(keras.Inputs(ids, vectors), keras.Outputs(layers.Apply(l, ids), l.ApplyReverse(vectors)))
				require.NoError(t, err)
				randomly(t, r, m)
				require.NoError(t, m.Quantize(how))
				index, x := make([]int32, batch), make([]float32, batch*length)
				for i := range index {
					index[i] = int32(r.IntN(words))
				}
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				at, err := kernels.ArrayOf(index)
				require.NoError(t, err)
				y, err := m.PredictAll(t.Context(), data.Arrays([]kernels.Array{at, shaped(x, batch, length)}, nil))
				require.NoError(t, err)
				w := quantizedWeights(t, m)
				packed := map[string]int{"int8": -1, "int4": 0}[mode]
				matrix := make([]float64, length*words)
				if untied {
					matrix = columnsOf(t, w["reverse_embeddings"], w["reverse_embeddings_scale"], length, words, packed)
				} else {
					table := w["embeddings"]
					if mode == "int4" {
						table, err = quantizers.UnpackInt4(table, length, 1)
						require.NoError(t, err)
					}
					for i, v := range table.Float64s() {
						matrix[i%length*words+i/length] = v / w["embeddings_scale"].Element(i/length)
					}
				}
				what := fmt.Sprintf("%s, untied %v, %d words of %d, %d vectors", mode, untied, words, length, batch)
				requireProduct(t, floatsOf(x), matrix, y[1].Float64s(), length, words, what)
			}
		}
	}
}

// TestRowsOfBlocks: rows of a table with blocks of any length equal, to the last bit, the numbers that their integers
// represent.
func TestRowsOfBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(75, 76))
	for range 60 {
		words, length, block := 1+r.IntN(40), 1+r.IntN(200), 1+r.IntN(100)
		m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: words, OutputDim: length}}, keras.InputShape())
		require.NoError(t, err)
		randomly(t, r, m)
		require.NoError(t, m.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: block}))
		ids := make([]float32, 7)
		for i := range ids {
			ids[i] = float32(r.IntN(words))
		}
		y, err := m.PredictOnBatch(t.Context(), data.Arrays(shaped(ids, 7), nil))
		require.NoError(t, err)
		w := quantizedWeights(t, m)
		table, err := quantizers.UnpackInt4(w["embeddings"], length, 1)
		require.NoError(t, err)
		scale, zero, count := w["embeddings_scale"].Float32s(), w["embeddings_zero"].Float64s(), (length+block-1)/block
		for i, got := range y.Float32s() {
			row, at := int(ids[i/length]), i%length
			of := row*count + at/block
			require.Equal(t, float32(table.Element(row*length+at)-zero[of])*scale[of], got, "%d words of %d in blocks of %d: element %d", words, length, block, i)
		}
	}
}

// TestLargeTablesInFourBits: a table that is quantized a few rows at a time has the same integers, scales and zero
// points as its rows in small tables.
func TestLargeTablesInFourBits(t *testing.T) {
	const words, length, few = 1400, 401, 100
	r := rand.New(rand.NewPCG(77, 78))
	values := make([]float32, words*length)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	quantize := func(values []float32) map[string]kernels.Array {
		n := len(values) / length
		m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: n, OutputDim: length}}, keras.InputShape())
		require.NoError(t, err)
		require.NoError(t, m.SetWeights([]kernels.Array{shaped(values, n, length)}))
		require.NoError(t, m.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: 32}))
		return quantizedWeights(t, m)
	}
	whole := quantize(values)
	for from := 0; from < words; from += few {
		part := quantize(values[from*length:][:few*length])
		for _, name := range []string{"embeddings", "embeddings_scale", "embeddings_zero"} {
			require.True(t, part[name].Equal(whole[name].Slice(from, from+few)), "%s of rows from %d", name, from)
		}
	}
}

// TestLoraBesideEinsteinSums: the contribution of LoRA, added to that of integer kernels, is the Einstein sum with the
// product of its matrices, whatever the order of axes.
func TestLoraBesideEinsteinSums(t *testing.T) {
	r := rand.New(rand.NewPCG(79, 80))
	for _, c := range []struct {
		equation string
		input    ir.Shape
		output   []int
	}{{"abc,cde->abde", ir.Shape{3, 6}, []int{layers.Unknown, 4, 5}}, {"abc,cde->abed", ir.Shape{3, 6}, []int{layers.Unknown, 5, 4}},
		{"abcd,cde->abe", ir.Shape{3, 4, 6}, []int{layers.Unknown, 5}}, {"abc,dc->abd", ir.Shape{3, 6}, []int{layers.Unknown, 5}},
		{"abc,bcd->abd", ir.Shape{3, 6}, []int{3, 5}}, {"abc,dbc->adc", ir.Shape{3, 6}, []int{5, 6}}} {
		predict := func(l *layers.EinsumDense, prepare func(m *keras.Model), x kernels.Array) []float64 {
			l.Equation, l.OutputShape = c.equation, c.output
			m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(c.input...))
			require.NoError(t, err)
			prepare(m)
			y, err := m.PredictOnBatch(t.Context(), data.Arrays(x, nil))
			require.NoError(t, err)
			return y.Float64s()
		}
		numbers := make([]float32, 2*c.input.Size())
		for i := range numbers {
			numbers[i] = float32(r.NormFloat64())
		}
		x := shaped(numbers, append([]int{2}, c.input...)...)
		zeros, change := kernels.Array{}, kernels.Array{}
		quantized := &layers.EinsumDense{}
		got := predict(quantized, func(m *keras.Model) {
			zeros = kernels.NewArray(m.Weights()[0].Type())
			require.NoError(t, m.Weights()[0].SetValue(zeros)) // only LoRA's contribution is left
			require.NoError(t, m.Quantize("int8"))
			require.NoError(t, quantized.EnableLora(2, layers.LoraOptions{Alpha: 3}))
			values := map[string][]float64{}
			for _, v := range m.Weights() {
				if name := v.Name(); name == "lora_kernel_a" || name == "lora_kernel_b" {
					values[name] = make([]float64, v.Type().Shape.Size())
					for i := range values[name] {
						values[name][i] = float64(float32(r.NormFloat64()))
					}
					a, err := kernels.FromFloat64s(ir.Float32, v.Type().Shape, values[name])
					require.NoError(t, err)
					require.NoError(t, v.SetValue(a))
				}
			}
			last := zeros.Shape()[zeros.Rank()-1]
			sum := make([]float64, zeros.Len())
			for i := range sum {
				for k := range 2 {
					sum[i] += 1.5 * values["lora_kernel_a"][i/last*2+k] * values["lora_kernel_b"][k*last+i%last]
				}
			}
			var err error
			change, err = kernels.FromFloat64s(ir.Float32, zeros.Type.Shape, sum)
			require.NoError(t, err)
		}, x)
		want := predict(&layers.EinsumDense{}, func(m *keras.Model) { require.NoError(t, m.Weights()[0].SetValue(change)) }, x)
		require.InDeltaSlice(t, want, got, 1e-4, c.equation)
	}
}
