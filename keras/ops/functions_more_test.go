package ops_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// moreFunctions are the calls of testdata/functions_more.py.
var moreFunctions = map[string]opstest.Func{
	"svd": func(_ *ops.Graph, x tensors) tensors {
		u, s, v := ops.Svd(x[0], false)
		return list(ops.Abs(u), s, ops.Abs(v))
	},
	"svd_wide": func(_ *ops.Graph, x tensors) tensors {
		u, s, v := ops.Svd(x[0], true)
		return list(ops.Abs(u), s, ops.Abs(ops.SliceAxis(v, -2, 0, 3)))
	},
	"svd_values": func(_ *ops.Graph, x tensors) tensors { return list(ops.SingularValues(x[0])) },
	"norm_2": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.MatrixNorm(x[0], 2, 1, 2), ops.MatrixNorm(x[0], -2, 2, 1), ops.NuclearNorm(x[0], 1, 2))
	},
	"eigh": func(_ *ops.Graph, x tensors) tensors {
		w, v := ops.Eigh(x[0])
		return list(w, ops.Abs(v))
	},
	"pinv":       func(_ *ops.Graph, x tensors) tensors { return list(ops.Pinv(x[0], nil), ops.Pinv(x[0], new(0.5))) },
	"pinv_stack": func(_ *ops.Graph, x tensors) tensors { return list(ops.Pinv(x[0], nil)) },
	"lstsq": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.Lstsq(x[0], x[1], nil), ops.Lstsq(x[0], ops.Index(x[1], 1, 0), nil), ops.Lstsq(x[0], x[1], new(0.4)))
	},
	"lstsq_low": func(_ *ops.Graph, x tensors) tensors { return list(ops.Lstsq(x[0], x[1], new(1e-10))) },
	"matrix_rank": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.MatrixRank(x[0], nil), ops.MatrixRank(x[1], nil), ops.MatrixRank(x[1], new(1.5)))
	},
	"lu_factor":      luFactor,
	"lu_factor_tall": luFactor,
	"rgb_to_hsv":     func(_ *ops.Graph, x tensors) tensors { return list(ops.RGBToHSV(x[0], -1), ops.RGBToHSV(x[1], -1)) },
	"hsv_to_rgb":     func(_ *ops.Graph, x tensors) tensors { return list(ops.HSVToRGB(x[0], 3)) },
	"pad_images":     func(_ *ops.Graph, x tensors) tensors { return list(ops.PadImages(x[0], 1, 2, 3, 0)) },
	"crop_images":    func(_ *ops.Graph, x tensors) tensors { return list(ops.CropImages(x[0], 1, 2, 3, 4)) },
	"sobel_edges":    func(_ *ops.Graph, x tensors) tensors { return list(ops.SobelEdges(x[0])) },
	"gaussian_blur": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.GaussianBlur(x[0], [2]int{3, 5}, [2]float64{0.7, 1.5}))
	},
	"extract_patches": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.ExtractPatches(x[0], []int{2, 3}, ops.ConvOptions{Strides: []int{2, 3}}), ops.ExtractPatches(x[0], []int{2, 2}, ops.ConvOptions{Dilation: []int{2, 2}}),
			ops.ExtractPatches(x[0], []int{3, 3}, ops.ConvOptions{Strides: []int{3, 3}, PadLow: []int{0, 0}, PadHigh: []int{1, 0}}))
	},
	"extract_patches_3d": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.ExtractPatches(x[0], []int{2, 3, 2}, ops.ConvOptions{Strides: []int{2, 3, 2}}))
	},
	"unfold": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.Unfold(x[0], ops.FoldOptions{Window: []int{2, 2}}),
			ops.Unfold(x[0], ops.FoldOptions{Window: []int{2, 3}, Dilation: []int{2, 1}, Padding: []int{1, 2}, Strides: []int{2, 1}}))
	},
	"fold": func(_ *ops.Graph, x tensors) tensors {
		return list(ops.Fold(x[0], 4, 6, ops.FoldOptions{Window: []int{2, 2}, Strides: []int{2, 2}}),
			ops.Fold(x[1], 5, 7, ops.FoldOptions{Window: []int{2, 3}, Padding: []int{1, 0}, Strides: []int{1, 2}}))
	},
}

func luFactor(_ *ops.Graph, x tensors) tensors {
	lu, p := ops.LuFactor(x[0])
	return list(lu, p)
}

func moreCases(t *testing.T) []functionCase {
	data, err := os.ReadFile("testdata/functions_more.json")
	require.NoError(t, err)
	var file struct{ Cases []functionCase }
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Cases, len(moreFunctions))
	return file.Cases
}

func TestMoreFunctions(t *testing.T) {
	for _, c := range moreCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			require.NotNil(t, moreFunctions[c.Name])
			out := opstest.Eval(t, moreFunctions[c.Name], c.inputs(t)...)
			require.Len(t, out, len(c.Out))
			for i, want := range c.Out {
				d, err := ir.ParseDType(want.DType)
				require.NoError(t, err)
				require.Equal(t, d.IsFloat(), out[i].DType.IsFloat(), "result %d is %v, want %v", i, out[i].DType, d)
				opstest.Near(t, c.Name, out[i], opstest.Array{Shape: want.Shape, F: want.Data}, 1e-11, 1e-11)
			}
		})
	}
}

// TestMoreFunctionGradients compares gradients with central differences where the functions are smooth.
func TestMoreFunctionGradients(t *testing.T) {
	// If singular values are cut off, the gradient assumes that the threshold does not move.
	rough := map[string]bool{"rgb_to_hsv": true, "matrix_rank": true, "lstsq_low": true, "pinv": true, "lstsq": true}
	for _, c := range moreCases(t) {
		if !rough[c.Name] {
			t.Run(c.Name, func(t *testing.T) { opstest.CheckGradients(t, moreFunctions[c.Name], c.inputs(t)...) })
		}
	}
	opstest.CheckGradients(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.RGBToHSV(x, -1) }), opstest.Floats([]int{1, 2, 3}, 0.2, 0.5, 0.9, 0.8, 0.1, 0.3))
}

// TestQuantileMethods compares with keras.ops.quantile of Keras 3.15.1 on JAX for q of 0.4 and 1.
func TestQuantileMethods(t *testing.T) {
	x := opstest.Floats([]int{2, 4}, 3, 1, 2, 4, 5, 8, 7, 6)
	for method, want := range map[string][]float64{
		"linear": {2.2, 6.2}, "lower": {2, 6}, "higher": {3, 7}, "nearest": {2, 6}, "midpoint": {2.5, 6.5},
	} {
		of := func(q float64) opstest.Func {
			return func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.QuantileMethod(x[0], q, method, 1)}
			}
		}
		require.InDeltaSlice(t, want, opstest.Eval(t, of(0.4), x)[0].F, 1e-6, method)
		require.InDeltaSlice(t, []float64{4, 8}, opstest.Eval(t, of(1), x)[0].F, 1e-6, method)
	}
	err := opstest.EvalError(func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.QuantileMethod(x[0], 0.4, "middle", 1)}
	}, x)
	require.ErrorContains(t, err, `unknown method "middle"; known: linear`)
}

// TestNanquantileMethods compares with numpy.nanquantile of NumPy 2 for q of 0.4 and 0.9; each row has a different
// number of elements that are not NaN.
func TestNanquantileMethods(t *testing.T) {
	nan := math.NaN()
	x := opstest.Floats([]int{3, 5}, 3, nan, 1, 4, 2, nan, nan, nan, nan, nan, 7, nan, nan, 5, nan)
	for method, want := range map[string][]float64{
		"linear": {2.2, nan, 5.8, 3.7, nan, 6.8}, "lower": {2, nan, 5, 3, nan, 5}, "higher": {3, nan, 7, 4, nan, 7},
		"nearest": {2, nan, 5, 4, nan, 7}, "midpoint": {2.5, nan, 6, 3.5, nan, 6},
	} {
		got := opstest.Eval(t, func(g *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
			q := ops.Constant(g, ir.Float32, ir.Shape{2}, []float64{0.4, 0.9})
			return []*ops.Tensor{ops.Nanquantiles(x[0], q, method, 1), ops.NanquantileMethod(x[0], 0.4, method, 1)}
		}, x)
		for i, w := range want {
			require.Equal(t, math.IsNaN(w), math.IsNaN(got[0].F[i]), "%s %d", method, i)
			if !math.IsNaN(w) {
				require.InDelta(t, w, got[0].F[i], 1e-6, "%s %d", method, i)
			}
		}
		require.InDelta(t, want[0], got[1].F[0], 1e-6, method)
	}
	err := opstest.EvalError(func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.NanquantileMethod(x[0], 0.4, "middle", 1)}
	}, x)
	require.ErrorContains(t, err, `unknown method "middle"; known: linear`)
}

// Half precision cannot represent the sum of 4 numbers of 60000; Keras's mean and variance do not need it.
func TestMeansOfHalfPrecision(t *testing.T) {
	x := opstest.Floats([]int{4}, 60000, 60000, 59968, 60032)
	got := opstest.Eval(t, func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
		h := ops.Cast(x[0], ir.Float16)
		return []*ops.Tensor{ops.Cast(ops.Mean(h), ir.Float32), ops.Cast(ops.Variance(h), ir.Float32), ops.Cast(ops.Nanquantile(h, 0.5, 0), ir.Float32)}
	}, x)
	require.Equal(t, []float64{60000}, got[0].F)
	require.Equal(t, []float64{512}, got[1].F)
	require.Equal(t, []float64{60000}, got[2].F)
}

// TestQuantilesOfATensor compares with keras.ops.quantile of Keras 3.15.1 for q of [0.4, 0.9].
func TestQuantilesOfATensor(t *testing.T) {
	x := opstest.Floats([]int{2, 5}, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3)
	for method, want := range map[string][]float64{
		"linear": {2.2, 4.2, 4.6, 7.8}, "lower": {1, 3, 4, 6}, "higher": {3, 5, 5, 9}, "nearest": {3, 5, 5, 9}, "midpoint": {2, 4, 4.5, 7.5},
	} {
		got := opstest.Eval(t, func(g *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.Quantiles(x[0], ops.Constant(g, ir.Float32, ir.Shape{2}, []float64{0.4, 0.9}), method, 1)}
		}, x)
		require.InDeltaSlice(t, want, got[0].F, 1e-6, method)
	}
}

// TestBeamsOfCTC compares with keras.ops.ctc_decode of Keras 3.15.1 on JAX for random logits, with beams narrower and
// wider than the number of relevant sequences.
func TestBeamsOfCTC(t *testing.T) {
	logits := opstest.Floats([]int{2, 7, 4},
		4.08, -5.11, 0.84, -1.14, -0.91, -0.43, -4.04, -0.46, -1.73, 6.65, 0.45, -0.71, -0.56, -1.34, -2.11, -0.78, 0.96, -0.48, 1.92, -0.4, 0.05, 3.09, 1.09, -1.01, -0.37, 1.08, 3.87, -0.54,
		-0.49, 2, -1.77, -0.58, 1.77, 1.16, 0.18, 1.34, -5.66, 2.04, -1.92, -3.34, 0.55, 1.4, -0.89, -2.15, 0.05, -0.11, 2.81, 1.49, 0.39, 2.22, -0.41, -1.85, 1.17, 1.17, -0.43, -1.57)
	for _, c := range []struct {
		width, top    int
		paths, scores []float64
	}{
		{4, 2, []float64{0, 1, 2, 1, 2, -1, -1, 1, 0, 1, 2, -1, -1, -1, 0, 1, 0, 2, 1, 2, -1, 1, 1, 2, -1, -1, -1, -1}, []float64{-1.2780964, -1.6796627, -1.8053081, -2.22684}},
		{8, 3, []float64{0, 1, 2, 1, 2, -1, -1, 1, 0, 1, 2, -1, -1, -1, 0, 1, 0, 1, 2, -1, -1, 1, 1, 2, -1, -1, -1, -1, 0, 1, 0, 2, 1, 2, -1, 1, 2, -1, -1, -1, -1, -1},
			[]float64{-1.2779596, -1.624964, -1.6796627, -1.8053081, -2.22684, -2.2610564}},
		{20, 4, []float64{0, 1, 2, 1, 2, -1, -1, 1, 0, 1, 2, -1, -1, -1, 0, 1, 0, 1, 2, -1, -1, 1, 1, 2, -1, -1, -1, -1, 0, 1, 0, 2, 1, 2, -1, 1, 2, -1, -1, -1, -1, -1, 0, 1, 0, 2, -1, -1, -1, 1, 0, 1,
			0, 2, -1, -1}, []float64{-1.2648978, -1.6132058, -1.6795033, -2.7745733, -1.682915, -2.110228, -2.1371565, -2.6836278}},
	} {
		got := opstest.Eval(t, func(g *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
			paths, scores := ops.CTCBeamSearchDecode(x[0], ops.Constant(g, ir.Int32, ir.Shape{2}, []float64{7, 5}), c.width, c.top, 3)
			return []*ops.Tensor{paths, scores}
		}, logits)
		require.InDeltaSlice(t, c.scores, got[1].F, 1e-5, "beam of %d", c.width)
		require.Equal(t, c.paths, got[0].F, "beam of %d", c.width)
	}
}
