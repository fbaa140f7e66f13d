package keras_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// integersOf is a layer of random integers, of which tests use the first units.
type integersOf struct {
	mode          string
	bits, block   int
	rows, units   int
	values, zeros []int // for each unit: the values of its rows, the zero points of its groups
	groups        []int // the group of each row
	scales        []float32
	saliency      []float32
}

func drawIntegers(r *rand.Rand, mode string) *integersOf {
	c := &integersOf{mode: mode, bits: 4, rows: 200 + r.IntN(300), units: 330 + r.IntN(30)}
	c.block = []int{32, 50, 128}[r.IntN(3)]
	if _, err := fmt.Sscanf(mode, "gptq-%d", &c.bits); err == nil {
		c.mode = "gptq"
	}
	blocks := (c.rows + c.block - 1) / c.block
	for range c.rows * c.units {
		c.values = append(c.values, r.IntN(1<<c.bits))
	}
	for range blocks * c.units {
		c.zeros, c.scales = append(c.zeros, r.IntN(1<<c.bits)), append(c.scales, 0.01+r.Float32())
	}
	for i := range c.rows {
		c.groups, c.saliency = append(c.groups, i/c.block), append(c.saliency, 1)
	}
	switch mode {
	case "ordered":
		c.mode = "gptq"
		r.Shuffle(c.rows, func(i, j int) { c.groups[i], c.groups[j] = c.groups[j], c.groups[i] })
	case "awq":
		for i := range c.saliency {
			c.saliency[i] = 0.5 + r.Float32()
		}
	}
	return c
}

// number is the number that the integer of a row and a unit represents.
func (c *integersOf) number(row, unit int) float64 {
	blocks := len(c.zeros) / c.units
	at := unit*blocks + c.groups[row]
	return float64(c.values[unit*c.rows+row]-c.zeros[at]) * float64(c.scales[at]) / float64(c.saliency[row])
}

// set sets a model's variables to the values of the first units.
func (c *integersOf) set(t *testing.T, m *keras.Model, units int) {
	blocks := len(c.zeros) / c.units
	for _, v := range m.Weights() {
		var values []float64
		switch name := v.Name(); {
		case name == "kernel" && c.bits == 4:
			for unit := 0; unit < units; unit += 2 {
				for row := range c.rows {
					high := 0
					if unit+1 < units {
						high = c.values[(unit+1)*c.rows+row]
					}
					values = append(values, float64(c.values[unit*c.rows+row]|high<<4))
				}
			}
		case name == "kernel":
			values = floatsOf(c.values[:units*c.rows])
		case strings.HasSuffix(name, "_scale"):
			values = floatsOf(c.scales[:units*blocks])
		case strings.Contains(name, "zero"):
			values = floatsOf(c.zeros[:units*blocks])
		case name == "g_idx":
			values = floatsOf(c.groups)
		case name == "awq_scales":
			values = floatsOf(c.saliency)
		default:
			continue
		}
		a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, values)
		require.NoError(t, err)
		require.NoError(t, v.SetValue(a), v.Name())
	}
}

func floatsOf[T int | float32](values []T) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// TestSmallMatricesOfIntegers: small layers multiply floats, and larger ones integers. Both agree with float64, for one
// example or several.
func TestSmallMatricesOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 16))
	for _, mode := range []string{"gptq", "gptq-2", "gptq-8", "ordered", "awq"} {
		for range 2 {
			c := drawIntegers(r, mode)
			dtype := fmt.Sprintf("%s/%d/%d_from_float32", c.mode, c.bits, c.block)
			var how quantizers.Config = &quantizers.AWQConfig{GroupSize: c.block}
			if c.mode == "gptq" {
				how = &quantizers.GPTQConfig{GroupSize: c.block, WeightBits: c.bits, ActivationOrder: mode == "ordered"}
			}
			for _, units := range []int{1 + r.IntN(100), c.units} {
				m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units, DType: dtype, QuantizationConfig: how}}, keras.InputShape(c.rows))
				require.NoError(t, err)
				c.set(t, m, units)
				for _, batch := range []int{1, 7} {
					x := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{batch, c.rows}})
					numbers := make([]float64, batch*c.rows)
					for i := range numbers {
						numbers[i] = float64(float32(r.NormFloat64()))
					}
					require.NoError(t, x.SetFloat64s(0, numbers))
					y, err := m.PredictOnBatch(t.Context(), data.Arrays(x, nil))
					require.NoError(t, err)
					for i, got := range y.Float64s() {
						want, most := 0.0, 0.0
						for row, v := range numbers[i/units*c.rows:][:c.rows] {
							w := v * c.number(row, i%units)
							want, most = want+w, most+max(w, -w)
						}
						require.InDelta(t, want, got, 1e-6*most, "%s: %d rows in blocks of %d, %d units, %d examples", mode, c.rows, c.block, units, batch)
					}
				}
			}
		}
	}
}
