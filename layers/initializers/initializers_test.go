package initializers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// expectation is what the cases record about random initializers.
type expectation struct {
	Shape        []int
	Distribution string
	Low, High    *float64
	Mean, Std    float64
	Orthogonal   *float64
}

// TestKeras checks fixed values against Keras, and bounds and moments of random ones against the parameters that Keras
// computes.
func TestKeras(t *testing.T) {
	for _, c := range vectors.Load(t, "initializers").Cases {
		t.Run(c.Name, func(t *testing.T) {
			v, err := initializers.Get(config.Object{ClassName: c.Class, Config: c.Config})
			require.NoError(t, err)
			if strings.HasPrefix(c.Name, "5_Identity") {
				v = &initializers.Identity{Gain: new(0.3)} // Keras omits the gain in the configuration
			}
			var want expectation
			c.DecodeExtra(t, &want)
			shape := ir.Shape(want.Shape)
			got, err := values(v, shape, ir.Float64, 5)
			require.NoError(t, err)
			require.Len(t, got, shape.Size())
			switch {
			case want.Orthogonal != nil:
				checkOrthogonal(t, got, shape, *want.Orthogonal)
			case want.Distribution != "":
				checkMoments(t, v, shape, want)
			default:
				c.Close(t, "value", got, shape, c.Output(t, "value"))
			}
		})
	}
}

// values returns a weight's values from an initializer.
func values(v interface {
	Initialize(into kernels.Array, seed uint64) error
}, shape ir.Shape, dtype ir.DType, seed uint64) ([]float64, error) {
	a := kernels.NewArray(ir.Type{DType: dtype, Shape: shape})
	err := v.Initialize(a, seed)
	return a.Float64s(), err
}

func checkMoments(t *testing.T, v interface {
	Initialize(into kernels.Array, seed uint64) error
}, shape ir.Shape, want expectation) {
	t.Helper()
	// With its own seed an initializer gives the same values on every call, so the large sample is one draw of a longer
	// shape with the same fans.
	got, err := values(v, shape, ir.Float64, 1)
	require.NoError(t, err)
	again, err := values(v, shape, ir.Float64, 2)
	require.NoError(t, err)
	assert.Equal(t, got, again, "an initializer with a seed gives the same values on every call")
	sum, square := 0.0, 0.0
	for _, x := range got {
		if want.Low != nil {
			require.True(t, x >= *want.Low-1e-12 && x <= *want.High+1e-12, "%v is outside [%v, %v]", x, *want.Low, *want.High)
		}
		sum += x
		square += (x - want.Mean) * (x - want.Mean)
	}
	n := float64(len(got))
	// Five standard errors: of the mean std/sqrt(n), of the standard deviation at most std/sqrt(2n).
	assert.InDelta(t, want.Mean, sum/n, 5*want.Std/math.Sqrt(n), "mean")
	assert.InDelta(t, want.Std, math.Sqrt(square/n), 5*want.Std/math.Sqrt(2*n), "standard deviation")
}

func checkOrthogonal(t *testing.T, got []float64, shape ir.Shape, gain float64) {
	t.Helper()
	last := shape[len(shape)-1]
	rows := shape.Size() / last
	at := func(i, j int) float64 { return got[i*last+j] }
	n, m := last, rows // vectors are columns
	if rows < last {
		n, m = rows, last
		at = func(i, j int) float64 { return got[j*last+i] }
	}
	for i := range n {
		for j := range n {
			dot, want := 0.0, 0.0
			for k := range m {
				dot += at(k, i) * at(k, j)
			}
			if i == j {
				want = gain * gain
			}
			assert.InDelta(t, want, dot, 1e-12, "vectors %d and %d", i, j)
		}
	}
}

// TestOrthogonalSigns: with the signs of a positive diagonal of R, the first column of Q is the first column of the
// random matrix divided by its length. Its mean over many seeds must vanish, which it would not with a fixed sign
// convention.
func TestOrthogonalSigns(t *testing.T) {
	sum := 0.0
	const n = 400
	for seed := range n {
		q, err := values(initializers.Orthogonal{}, ir.Shape{3, 3}, ir.Float64, uint64(seed))
		require.NoError(t, err)
		sum += q[0]
	}
	assert.InDelta(t, 0, sum/n, 5*math.Sqrt(1.0/3)/math.Sqrt(n))
}

func TestSeeds(t *testing.T) {
	shape := ir.Shape{40}
	draw := func(v interface {
		Initialize(into kernels.Array, seed uint64) error
	}, seed uint64) []float64 {
		x, err := values(v, shape, ir.Float32, seed)
		require.NoError(t, err)
		return x
	}
	assert.Equal(t, draw(initializers.HeNormal{}, 3), draw(&initializers.HeNormal{}, 3))
	assert.NotEqual(t, draw(initializers.HeNormal{}, 3), draw(initializers.HeNormal{}, 4))
	assert.Equal(t, draw(initializers.HeNormal{Seed: new(9)}, 3), draw(initializers.HeNormal{Seed: new(9)}, 4))
}

func TestGet(t *testing.T) {
	for _, name := range []string{"glorot_uniform", "GlorotUniform", "zeros", "zero", "one", "normal", "uniform", "he_normal", "lecun_uniform", "OrthogonalInitializer", "identity"} {
		_, err := initializers.Get(name)
		assert.NoError(t, err, name)
	}
	for _, bad := range []any{nil, "nonsense", 3, (*initializers.Zeros)(nil), config.Object{ClassName: "Zeros", Config: json.RawMessage(`{"x":1}`)}} {
		_, err := initializers.Get(bad)
		assert.Error(t, err, "%v", bad)
	}
	_, err := initializers.Get("glorot")
	assert.ErrorContains(t, err, "GlorotUniform")
	for _, name := range initializers.Names() {
		_, err := initializers.Get(name)
		assert.NoError(t, err)
	}
}

// TestIdentityOfInfinities: Keras multiplies the gain by the matrix of ones and zeros.
func TestIdentityOfInfinities(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		gain  float64
		dtype ir.DType
		want  []float64
	}{
		{inf, ir.Float32, []float64{inf, nan, nan, inf}},
		{-1e39, ir.Float32, []float64{-inf, nan, nan, -inf}},
		{1e5, ir.Float16, []float64{inf, nan, nan, inf}},
		{1e5, ir.BFloat16, []float64{99840, 0, 0, 99840}},
		{1e39, ir.Float64, []float64{1e39, 0, 0, 1e39}},
	} {
		got, err := values(initializers.Identity{Gain: &c.gain}, ir.Shape{2, 2}, c.dtype, 0)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(c.want), fmt.Sprint(got), "%v %v", c.gain, c.dtype)
	}
	_, err := values(initializers.Identity{}, ir.Shape{0, 3}, ir.Float32, 0)
	require.NoError(t, err)
}

func TestErrors(t *testing.T) {
	for name, v := range map[string]interface {
		Initialize(into kernels.Array, seed uint64) error
	}{
		"two axes":      initializers.Orthogonal{},
		"matrices only": initializers.Identity{},
		"Mode":          initializers.VarianceScaling{Mode: "fan"},
		"Distribution":  initializers.VarianceScaling{Distribution: "cauchy"},
		"positive":      initializers.VarianceScaling{Scale: -1},
		"outside shape": initializers.HeNormal{InputAxes: []int{4}, OutputAxes: []int{0}},
		"above MaxVal":  initializers.RandomUniform{MinVal: new(2.0)},
	} {
		_, err := values(v, ir.Shape{3}, ir.Float32, 0)
		assert.ErrorContains(t, err, name)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, c := range vectors.Load(t, "initializers").Cases {
		v, err := initializers.Get(config.Object{ClassName: c.Class, Config: c.Config})
		require.NoError(t, err)
		back, err := config.Encode(v)
		require.NoError(t, err)
		delete(back, "gain")
		var want map[string]any
		c.DecodeConfig(t, &want)
		delete(want, "gain")
		text, err := json.Marshal(back)
		require.NoError(t, err)
		wantText, err := json.Marshal(want)
		require.NoError(t, err)
		assert.JSONEq(t, string(wantText), string(text), c.Name)
	}
}

// TestTruncatedNormalAllocations counts allocations, to check that drawing initial values does not allocate for each.
func TestTruncatedNormalAllocations(t *testing.T) {
	into := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{10000}})
	allocations := testing.AllocsPerRun(10, func() {
		_ = initializers.TruncatedNormal{}.Initialize(into, 1)
	})
	assert.LessOrEqual(t, allocations, 4.0)
}

func BenchmarkTruncatedNormal(b *testing.B) {
	into := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{350000}})
	for b.Loop() {
		if err := (initializers.TruncatedNormal{}).Initialize(into, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/op")
}

func TestWithAxes(t *testing.T) {
	in, out := []int{0}, []int{1, 2}
	for _, name := range []string{"VarianceScaling", "GlorotUniform", "GlorotNormal", "HeUniform", "HeNormal", "LecunUniform", "LecunNormal"} {
		v, err := initializers.Get(name)
		require.NoError(t, err)
		c, err := config.Encode(initializers.WithAxes(v, in, out))
		require.NoError(t, err)
		assert.Equal(t, []any{int64(1), int64(2)}, c["output_axes"], name)
	}
	zeros := &initializers.Zeros{}
	assert.Equal(t, zeros, initializers.WithAxes(zeros, in, out))
}
