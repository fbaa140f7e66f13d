package ops_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestElasticTransformOfGivenNoise: given the same noise as Keras, images are deformed as in Keras. The cases are those
// of the layer RandomElasticTransform, which calls the operation with numbers that depend on the size of the images.
func TestElasticTransformOfGivenNoise(t *testing.T) {
	compared := 0
	for _, c := range vectors.Load(t, "augmentation").Cases {
		var config struct {
			FillMode      string    `json:"fill_mode"`
			Interpolation string    `json:"interpolation"`
			FillValue     float64   `json:"fill_value"`
			DataFormat    string    `json:"data_format"`
			ValueRange    []float64 `json:"value_range"`
		}
		if c.Class != "RandomElasticTransform" {
			continue
		}
		require.NoError(t, json.Unmarshal(c.Config, &config))
		if config.DataFormat != "channels_last" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			x, dx, dy, factor, apply := c.Input(t, "x"), c.Input(t, "t/dx"), c.Input(t, "t/dy"), c.Input(t, "t/distortion_factor").Data[0], c.Input(t, "t/apply_transform")
			h, w := x.Shape[1], x.Shape[2]
			alpha, sigma := 0.1*factor*float64(max(h, w)), 0.05*factor*float64(min(h, w))
			if int(3*sigma) != int(6*sigma)/2 {
				t.Skipf("not a drawing that both can make: with this sigma the layer sums %d neighbours on a side, the operation %d", int(3*sigma), int(6*sigma)/2)
			}
			noise := func(a vectors.Array) opstest.Array {
				f := make([]float64, len(a.Data))
				for i, v := range a.Data {
					f[i] = v * sigma
				}
				return opstest.Floats(append(append([]int{}, a.Shape...), 1), f...)
			}
			out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
				y := ops.Elastic(in[0], in[1], in[2], alpha, sigma, ops.ImageSampling{Interpolation: config.Interpolation, FillMode: config.FillMode, FillValue: config.FillValue})
				return tensors{ops.Clip(y, config.ValueRange[0], config.ValueRange[1])}
			}, opstest.Floats(x.Shape, x.Data...), noise(dx), noise(dy))[0].F
			want := c.Output(t, "output")
			each := len(want.Data) / len(apply.Data)
			for i, applied := range apply.Data {
				if applied == 0 {
					continue
				}
				near := 1e-9
				if c.DType == "float32" {
					near = 2e-2 // positions are float32 there; cells differ by up to 255
				}
				assert.InDeltaSlice(t, want.Data[i*each:(i+1)*each], out[i*each:(i+1)*each], near)
				compared++
			}
		})
	}
	assert.Greater(t, compared, 10)
}

// TestElasticTransform: the displacements of cells are normal, with the deviation and the correlations that follow from
// blurring independent numbers, along columns and rows alike; each is within five standard errors of its estimate.
func TestElasticTransform(t *testing.T) {
	const batch, size, edge = 4, 96, 12
	const alpha, sigma = 1.7, 1.5
	moved := func(axis int, seed uint64) [][]float64 { // for each image: rows of cells away from the edges
		out := opstest.Eval(t, func(g *ops.Graph, _ tensors) tensors {
			shape := []int{1, 1, 1, 1}
			shape[axis] = size
			x := ops.BroadcastTo(ops.Iota(g, ir.Float64, axis, shape...), batch, size, size, 1)
			return tensors{ops.Subtract(ops.ElasticTransform(x, alpha, sigma, seed, ops.ImageSampling{FillMode: "nearest"}), x)}
		})[0].F
		rows := make([][]float64, 0, batch*size)
		for i := range batch * size {
			if row := i % size; row >= edge && row < size-edge {
				rows = append(rows, out[i*size+edge:(i+1)*size-edge])
			}
		}
		return rows
	}
	f := fieldOf(sigma)
	deviation := alpha * sigma * f.squares
	across, down := moved(2, 5), moved(1, 5)
	for _, rows := range [][][]float64{across, down} {
		var all []float64
		for _, r := range rows {
			all = append(all, r...)
		}
		n := float64(len(all))
		mean, got, _, _ := moments(all)
		assert.InDelta(t, 0, mean, 5*deviation*math.Sqrt(f.sum(func(u, v int) float64 { return f.at(u) * f.at(v) })/n))
		spread := math.Sqrt(2 * f.sum(func(u, v int) float64 { return math.Pow(f.at(u)*f.at(v), 2) }) / n) // of the variance, by its square
		assert.InDelta(t, deviation*deviation, got*got, 5*deviation*deviation*spread)
		for _, apart := range []int{1, 3} {
			assert.InDelta(t, f.at(apart), correlation(rows, apart), 5*math.Sqrt(f.bartlett(apart)/n), "%d apart", apart)
		}
	}
	require.Equal(t, across, moved(2, 5), "equal seeds")
	require.NotEqual(t, across, moved(2, 6), "another seed")
	require.NotEqual(t, across[0], across[len(across)/batch], "another image")
	require.NotEqual(t, across, down, "columns and rows")
}

func correlation(rows [][]float64, apart int) float64 {
	var both, square, pairs, all float64
	for _, r := range rows {
		for i, v := range r {
			square, all = square+v*v, all+1
			if i+apart < len(r) {
				both, pairs = both+v*r[i+apart], pairs+1
			}
		}
	}
	return (both / pairs) / (square / all)
}

// field is the statistics of independent numbers after blurring.
type field struct {
	squares float64   // sum of the squares of the weights along an axis
	rho     []float64 // correlations along an axis
}

func fieldOf(sigma float64) field {
	reach := (int(6*sigma) | 1) / 2
	weights, total := make([]float64, 2*reach+1), 0.0
	for i := range weights {
		weights[i] = math.Exp(-math.Pow(float64(i-reach)/sigma, 2) / 2)
		total += weights[i]
	}
	f := field{rho: make([]float64, len(weights))}
	for d := range weights {
		for i := range len(weights) - d {
			f.rho[d] += weights[i] * weights[i+d] / (total * total)
		}
	}
	f.squares = f.rho[0]
	for d := range f.rho {
		f.rho[d] /= f.squares
	}
	return f
}

func (f field) at(d int) float64 {
	if d = max(d, -d); d >= len(f.rho) {
		return 0
	}
	return f.rho[d]
}

// sum adds up a function of the distance of two cells over all cells.
func (f field) sum(of func(u, v int) float64) float64 {
	far, total := 2*len(f.rho), 0.0
	for u := -far; u <= far; u++ {
		for v := -far; v <= far; v++ {
			total += of(u, v)
		}
	}
	return total
}

// bartlett is n times the variance of an estimated correlation of cells in a row. Source: Bartlett, "On the Theoretical
// Specification and Sampling Properties of Autocorrelated Time-Series", Supplement to the Journal of the Royal
// Statistical Society 8, 1946, for two axes.
func (f field) bartlett(d int) float64 {
	return f.sum(func(u, v int) float64 {
		here, ahead, behind := f.at(u)*f.at(v), f.at(u+d)*f.at(v), f.at(u-d)*f.at(v)
		return here*here + ahead*behind - 4*f.at(d)*here*behind + 2*here*here*f.at(d)*f.at(d)
	})
}
