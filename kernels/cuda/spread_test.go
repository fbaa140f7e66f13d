//go:build linux

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// normalizing are ways to normalize x (batch, ..., channels).
var normalizing = []struct {
	name    string
	forward func(x, scale, offset *ops.Tensor, groups int) *ops.Tensor
}{
	{"group", func(x, scale, offset *ops.Tensor, groups int) *ops.Tensor {
		return ops.GroupNormalization(x, scale, offset, groups, 1e-3)
	}},
	{"instance", func(x, scale, offset *ops.Tensor, _ int) *ops.Tensor {
		return ops.GroupNormalization(x, scale, offset, x.Dim(-1), 1e-3)
	}},
	{"root mean square", func(x, scale, _ *ops.Tensor, _ int) *ops.Tensor {
		return ops.RmsNormalization(x, scale, 1e-6)
	}},
	{"unit", func(x, _, _ *ops.Tensor, _ int) *ops.Tensor { return ops.L2Normalize(x, -1, 1e-12) }},
	{"axes in the middle", func(x, scale, _ *ops.Tensor, _ int) *ops.Tensor {
		mean, variance := ops.Moments(x, 1)
		root := ops.Rsqrt(ops.AddScalar(ops.KeepDims(variance, x, 1), 1e-3))
		return ops.Multiply(ops.Multiply(ops.Subtract(x, ops.KeepDims(mean, x, 1)), root), scale)
	}},
	{"rows", func(x, scale, offset *ops.Tensor, _ int) *ops.Tensor {
		return ops.LayerNormalization(x, scale, offset, 1e-3)
	}},
}

// inTheMiddle is the number of the one that ops compose.
const inTheMiddle = 4

// normalizingProgram normalizes what a chain makes, and finds the gradients.
func normalizingProgram(which int, d ir.DType, shape ir.Shape, groups int, gradients bool) *ir.Program {
	g := ops.NewGraph("normalizing")
	x := ops.Negative(g.Input("x", d, shape...))
	channels := shape[len(shape)-1]
	scale, offset := g.Input("scale", d, channels), g.Input("offset", d, channels)
	y := normalizing[which].forward(x, scale, offset, groups)
	out := []*ops.Tensor{ops.Relu(y)}
	if gradients {
		dy := g.Input("dy", d, shape...)
		for _, v := range ops.VJP([]*ops.Tensor{y}, []*ops.Tensor{dy}, x, scale, offset) {
			if v != nil {
				out = append(out, v)
			}
		}
	}
	for _, v := range out {
		g.Program().AddOutput("out", v.Value())
	}
	return g.Program()
}

// What is normalized is one kernel, with the chains around it, and so is the gradient of the operand; those of scale
// and offset are one more.
func TestNormalizing(t *testing.T) {
	rounds := 72
	if brief() {
		rounds = 18
	}
	for i := range rounds {
		which := i % len(normalizing)
		t.Run(fmt.Sprint(i, " ", normalizing[which].name), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 59))
			d := []ir.DType{ir.Float32, ir.BFloat16, ir.Float16, ir.Float64}[rng.IntN(4)]
			if normalizing[which].name == "rows" {
				d = ir.Float64 // the others have a kernel of their own
			}
			groups := 1 + rng.IntN(4)
			shape := ir.Shape{1 + rng.IntN(5), 16 + rng.IntN(9), 1 + rng.IntN(5), groups * (4 + rng.IntN(12))}
			if i%3 == 0 {
				shape = ir.Shape{1 + rng.IntN(8), 16 + rng.IntN(20), groups * (4 + rng.IntN(40/groups))}
			}
			p := normalizingProgram(which, d, shape, groups, i%2 == 0)
			units := map[ir.DType]float64{ir.Float32: 256, ir.Float64: 1024}[d]
			if d.IsHalf() {
				units = 24
			}
			b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Capability: 75, Races: true}))
			agrees(t, b, p, rng, units)
			forward, err := lower.Program(normalizingProgram(which, d, shape, groups, false), lower.Options{})
			require.NoError(t, err)
			both, err := lower.Program(normalizingProgram(which, d, shape, groups, true), lower.Options{})
			require.NoError(t, err)
			if d.IsHalf() && which == inTheMiddle {
				return // the mean is rounded before it is subtracted
			}
			if normalizing[which].name == "rows" && shape[len(shape)-1] < 16 {
				return // what differs from the means of short rows is in memory
			}
			assert.Equal(t, 1, forward.Launches, "%v%v", d, shape)
			most := 4 // the result and the gradient, of the operand and of the scale; the activation of what is there
			if which == inTheMiddle {
				most = 6
			}
			assert.LessOrEqual(t, both.Launches, most)
		})
	}
}

// What reads the numbers of other rows waits for all blocks.
func TestSpreadElsewhere(t *testing.T) {
	wide := func(x *ops.Tensor) *ops.Tensor { return ops.BroadcastTo(x, 70, 70) }
	for name, c := range map[string]struct {
		launches int
		of       func(x, sums *ops.Tensor) *ops.Tensor
	}{
		"of its row": {1, func(x, sums *ops.Tensor) *ops.Tensor { return ops.Multiply(x, wide(ops.Reshape(sums, 70, 1))) }},
		"of its row, tanh": {1, func(x, sums *ops.Tensor) *ops.Tensor {
			return ops.Multiply(x, wide(ops.Reshape(ops.Tanh(sums), 70, 1)))
		}},
		"of its column":  {2, func(x, sums *ops.Tensor) *ops.Tensor { return ops.Multiply(x, wide(sums)) }},
		"of both":        {2, func(x, sums *ops.Tensor) *ops.Tensor { return ops.Multiply(wide(ops.Reshape(sums, 70, 1)), wide(sums)) }},
		"of another row": {2, func(x, sums *ops.Tensor) *ops.Tensor { return ops.Add(x, wide(ops.Reshape(ops.Flip(sums, 0), 70, 1))) }},
		"turned": {2, func(x, sums *ops.Tensor) *ops.Tensor {
			return ops.Transpose(ops.Add(x, wide(ops.Reshape(sums, 70, 1))), 1, 0)
		}},
		"flipped": {2, func(x, sums *ops.Tensor) *ops.Tensor {
			return ops.Tanh(ops.Flip(ops.Add(x, wide(ops.Reshape(sums, 70, 1))), 0))
		}},
		"of all": {3, func(x, sums *ops.Tensor) *ops.Tensor { return ops.Add(x, wide(ops.Sum(ops.Square(sums)))) }},
		"in other axes": {1, func(x, sums *ops.Tensor) *ops.Tensor {
			return ops.Add(ops.Reshape(x, 35, 2, 7, 10), ops.BroadcastTo(ops.Reshape(sums, 35, 2, 1, 1), 35, 2, 7, 10))
		}},
		"in the wrong axes": {2, func(x, sums *ops.Tensor) *ops.Tensor {
			return ops.Add(ops.Reshape(x, 7, 10, 70), ops.Reshape(ops.BroadcastTo(ops.Reshape(sums, 7, 1, 10, 1), 7, 7, 10, 10), 7, 10, 70))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := ops.NewGraph("elsewhere")
			x := g.Input("x", ir.Float32, 70, 70)
			y := c.of(x, ops.Sum(ops.Square(x), 1))
			g.Program().AddOutput("y", y.Value())
			plan, err := lower.Program(g.Program(), lower.Options{})
			require.NoError(t, err)
			assert.Equal(t, c.launches, plan.Launches)
			agrees(t, on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Shuffled, Races: true})), g.Program(), rand.New(rand.NewPCG(1, 67)), 64)
		})
	}
}

// A mean far from 0 costs no more digits than its own rounding does: the sums are of what differs from it.
func TestNormalizingFarFromZero(t *testing.T) {
	const batch, places, groups, members, eps = 2, 250, 4, 6, 1.0 / (1 << 24)
	shape := ir.Shape{batch, places, groups * members}
	g := ops.NewGraph("far")
	channels := groups * members
	y := ops.GroupNormalization(g.Input("x", ir.Float32, shape...), g.Input("scale", ir.Float32, channels), g.Input("offset", ir.Float32, channels), groups, 1e-3)
	p := g.Program()
	p.AddOutput("y", y.Value())
	b := on(t, fakedriver.New(fakedriver.Options{}))
	rng := rand.New(rand.NewPCG(1, 61))
	const far = 1 << 16
	x := make([]float64, shape.Size())
	for i := range x {
		x[i] = far + float64(rng.IntN(9)-4)
	}
	numbers := [][]float64{x, make([]float64, channels), make([]float64, channels)}
	for c := range channels {
		numbers[1][c], numbers[2][c] = 1+float64(c)/8, float64(c)
	}
	got := ran(t, b, p, numbers)
	for n := range batch {
		for group := range groups {
			sum, squares := 0.0, 0.0
			each := func(f func(i, c int)) {
				for place := range places {
					for c := group * members; c < (group+1)*members; c++ {
						f((n*places+place)*channels+c, c)
					}
				}
			}
			each(func(i, _ int) { sum += x[i] })
			mean := sum / (places * members)
			each(func(i, _ int) { squares += (x[i] - mean) * (x[i] - mean) })
			deviation := math.Sqrt(squares/(places*members) + 1e-3)
			each(func(i, c int) {
				want := (x[i]-mean)/deviation*numbers[1][c] + numbers[2][c]
				require.InDelta(t, want, got[i], 4*eps*(far/deviation*numbers[1][c]+math.Abs(want)), "element %d", i)
			})
		}
	}
}

// ran runs a program, and returns its first output.
func ran(t *testing.T, b *backend, p *ir.Program, numbers [][]float64) []float64 {
	d := kernels.Device{Kind: Kind}
	var buffers []kernels.Buffer
	buffer := func(typ ir.Type, numbers []float64) {
		x, err := b.NewBuffer(d, typ)
		require.NoError(t, err)
		t.Cleanup(x.Free)
		var data []byte
		for _, n := range numbers {
			data = ir.AppendElement(data, typ.DType, n)
		}
		require.NoError(t, x.Write(data))
		buffers = append(buffers, x)
	}
	for i, in := range p.Inputs {
		buffer(p.Type(in.Value), numbers[i])
	}
	out := p.Type(p.Outputs[0].Value)
	buffer(out, make([]float64, out.Shape.Size()))
	e, err := kernels.Load(b, p, d)
	require.NoError(t, err)
	defer e.Close()
	last := len(buffers) - 1
	require.NoError(t, e.Run(t.Context(), buffers[:last], buffers[last:]))
	data := make([]byte, out.Bytes())
	require.NoError(t, buffers[last].Read(data))
	got := make([]float64, out.Shape.Size())
	for i := range got {
		got[i] = ir.Element(data, out.DType, i)
	}
	return got
}
