//go:build linux

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// withStatistics appends the mean and the variance of a value along all axes but the last, and the reciprocal root.
func withStatistics(t *testing.T, p *ir.Program, y ir.Value) {
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("statistics", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	if p.Type(y).DType.IsHalf() {
		y = add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, y)
	}
	shape := p.Type(y).Shape
	last := len(shape) - 1
	var axes []int
	for i := range last {
		axes = append(axes, i)
	}
	constant := func(x float64) ir.Value {
		return add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, x, shape[last])})
	}
	mean := func(x ir.Value) ir.Value {
		return add(ir.Div, nil, add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, x), constant(float64(shape[:last].Size())))
	}
	m := mean(y)
	d := add(ir.Sub, nil, y, add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{last}}, m))
	v := mean(add(ir.Mul, nil, d, d))
	for _, x := range []ir.Value{m, v, add(ir.Rsqrt, nil, add(ir.Add, nil, v, constant(1e-3)))} {
		p.AddOutput("", x)
	}
}

// normalized is a product of m by n by k, or a convolution with as many places, with a bias or without, of which
// statistics are found.
func normalized(t *testing.T, d ir.DType, m, n, k int, convolve, bias bool) *ir.Program {
	p := ir.New("normalized")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	in := func(shape ...int) ir.Value { return p.AddInput("", ir.Type{DType: d, Shape: shape}) }
	var y ir.Value
	if convolve {
		one := []int{1, 1}
		y = add(ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: []int{0, 1}, PadHigh: []int{0, 1}, Groups: 1}, in(1, m, 3, k), in(1, 3, k, n))
	} else {
		y = add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, in(m, k), in(k, n))
	}
	if shape := p.Type(y).Shape; bias {
		y = add(ir.Add, nil, y, add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{len(shape) - 1}}, in(n)))
	}
	p.AddOutput("y", y)
	withStatistics(t, p, y)
	return p
}

// statisticsAgree runs a program with whole numbers, so that its first output is exact, and compares the statistics
// with those of this output, found with float64. A bias, the third input, is large: the mean is far from 0.
func statisticsAgree(t *testing.T, b *backend, p *ir.Program, rng *rand.Rand, bias float64) {
	d := kernels.Device{Kind: Kind}
	var buffers []kernels.Buffer
	var data [][]byte
	buffer := func(typ ir.Type, content []byte) {
		x, err := b.NewBuffer(d, typ)
		require.NoError(t, err)
		t.Cleanup(x.Free)
		require.NoError(t, x.Write(content))
		buffers = append(buffers, x)
	}
	for i, in := range p.Inputs {
		typ := p.Type(in.Value)
		var content []byte
		for range typ.Shape.Size() {
			x := float64(rng.IntN(3) - 1)
			if i == 2 {
				x = bias
			}
			content = ir.AppendElement(content, typ.DType, x)
		}
		buffer(typ, content)
	}
	for _, out := range p.Outputs {
		buffer(p.Type(out.Value), make([]byte, p.Type(out.Value).Bytes()))
	}
	e, err := kernels.Load(b, p, d)
	require.NoError(t, err)
	defer e.Close()
	for round := range 3 {
		n := len(p.Inputs)
		require.NoError(t, e.Run(t.Context(), buffers[:n], buffers[n:]))
		for i, out := range p.Outputs {
			got := make([]byte, p.Type(out.Value).Bytes())
			require.NoError(t, buffers[n+i].Read(got))
			if round == 0 {
				data = append(data, got)
			}
			require.Equal(t, data[i], got, "two runs differ")
		}
	}
	y := p.Type(p.Outputs[0].Value)
	columns := y.Shape[len(y.Shape)-1]
	rows := y.Shape.Size() / columns
	for c := range columns {
		sum, squares := 0.0, 0.0
		for r := range rows {
			sum += ir.Element(data[0], y.DType, r*columns+c)
		}
		mean := sum / float64(rows)
		for r := range rows {
			squares += math.Pow(ir.Element(data[0], y.DType, r*columns+c)-mean, 2)
		}
		variance := squares / float64(rows)
		const eps = 1.0 / (1 << 24)
		require.InDelta(t, mean, ir.Element(data[1], ir.Float32, c), 4*eps*(math.Abs(mean)+math.Sqrt(variance)), "the mean of column %d", c)
		// The mean itself is rounded, and so is what differs from it.
		require.InDelta(t, variance, ir.Element(data[2], ir.Float32, c), 16*eps*variance+2*eps*math.Abs(mean)*math.Sqrt(variance), "the variance of column %d", c)
		require.InEpsilon(t, 1/math.Sqrt(ir.Element(data[2], ir.Float32, c)+1e-3), ir.Element(data[3], ir.Float32, c), 8*eps, "the root of column %d", c)
	}
}

// The kernel of a product or a convolution finds the mean and the variance of its results: with every way of tensor
// cores, with plain tiles of both sizes, of every type, for few rows and for so many that they are joined twice.
func TestStatistics(t *testing.T) {
	rounds := 90
	if brief() {
		rounds = 8
	}
	taken := map[string]int{}
	found := 0
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 47))
			d := []ir.DType{ir.BFloat16, ir.Float16, ir.Float32}[i%3]
			m, n, k := 1+rng.IntN(300), 1+rng.IntN(150), 1+rng.IntN(60)
			if rng.IntN(2) == 0 {
				m, n, k = 64+8*rng.IntN(30), 64+8*rng.IntN(30), 16+8*rng.IntN(8)
			}
			if i%7 == 0 {
				m, n, k = 1050+rng.IntN(200), 1+rng.IntN(20), 1+rng.IntN(9)
			}
			bias := 64.0
			if d == ir.Float32 {
				kernels.AllowTF32(rng.IntN(2) == 0)
				defer kernels.AllowTF32(false)
				bias = 1 << 16
			}
			o := fakedriver.Options{Order: ptxsim.Orders()[i%3], Capability: []int{80, 86, 90, 90, 90, 100}[rng.IntN(6)], Races: m*n < 5000}
			if i%4 < 2 {
				o.Capability = 75 // plain tiles
			}
			b := on(t, fakedriver.New(o))
			b.pick = func(q lower.Question) int {
				w := rng.IntN(len(q.Ways))
				taken[q.Ways[w]]++
				return w
			}
			p := normalized(t, d, m, n, k, rng.IntN(2) == 0, rng.IntN(2) == 0)
			e, err := b.Compile(p, kernels.CompileOptions{Device: kernels.Device{Kind: Kind}})
			require.NoError(t, err)
			if e.(*executable).plan.Launches == 1 {
				found++
			}
			e.Close()
			statisticsAgree(t, b, p, rng, bias)
		})
	}
	t.Log(taken, found)
	assert.Greater(t, found, rounds*2/3)
	if !brief() {
		assert.GreaterOrEqual(t, len(taken), 12)
	}
}

// Where a library makes the convolution, and where parts of the sums are added up by another kernel, the statistics are
// a kernel of their own.
func TestStatisticsOnTheirOwn(t *testing.T) {
	for i, library := range []string{"", lower.BLAS, lower.DNN} {
		for _, convolve := range []bool{false, true} {
			k := 8
			if library == "" {
				k = 900
			}
			p := normalized(t, ir.Float32, 40, 24, k, convolve, i != 1)
			plan, err := lower.Program(p, lower.Options{Library: func(lower.Question) string { return library }})
			require.NoError(t, err)
			assert.Equal(t, library != "" && convolve == (library == lower.BLAS), plan.Launches == 1) // what that library cannot make
			f := fakedriver.New(fakedriver.Options{})
			b := on(t, f)
			b.openBLAS, b.openDNN = fakeBLAS{newFakeLibrary(f)}.Open, fakeDNN{newFakeLibrary(f)}.Open
			some := func(int) libraries.Found { return libraries.Found{Path: "x"} }
			b.findBLAS, b.findDNN = some, some
			b.pickLibrary = func(q lower.Question) string {
				if slices.Contains(q.Libraries, library) {
					return library
				}
				return ""
			}
			statisticsAgree(t, b, p, rand.New(rand.NewPCG(uint64(i), 53)), 64)
		}
	}
}

// So they are where a convolution has groups, whose columns lie beside each other.
func TestStatisticsOfGroups(t *testing.T) {
	p := ir.New("grouped")
	in := func(shape ...int) ir.Value {
		return p.AddInput("", ir.Type{DType: ir.Float32, Shape: shape})
	}
	one, zero := []int{1, 1}, []int{0, 0}
	y, err := p.Add("layer", ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: zero, PadHigh: zero, Groups: 2}, in(2, 8, 7, 8), in(3, 3, 4, 12))
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	withStatistics(t, p, y[0])
	statisticsAgree(t, on(t, fakedriver.New(fakedriver.Options{})), p, rand.New(rand.NewPCG(1, 59)), 0)
}
