//go:build linux

package cuda

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// inBulk takes the first way, of those that copy in bulk, which has small tiles.
func inBulk(q lower.Question) int {
	return slices.IndexFunc(q.Ways, func(way string) bool {
		return strings.HasPrefix(way, "64x64/") && strings.HasSuffix(way, lower.BulkMark)
	})
}

// batches is a product of matrices for each of a batch, whose operands may be stored transposed.
func batches(t *testing.T, d ir.DType, turnX, turnY bool) *ir.Program {
	p := ir.New("batches")
	x, y := ir.Shape{3, 72, 104}, ir.Shape{3, 104, 80}
	a := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}
	if turnX {
		x, a.LhsContract = ir.Shape{3, 104, 72}, []int{1}
	}
	if turnY {
		y, a.RhsContract = ir.Shape{3, 80, 104}, []int{2}
	}
	v, err := p.Add("layer", ir.Dot, a, p.AddInput("x", ir.Type{DType: d, Shape: x}), p.AddInput("y", ir.Type{DType: d, Shape: y}))
	require.NoError(t, err)
	p.AddOutput("out", v[0])
	return p
}

// pointwise is a convolution of single pixels, or a gradient of one.
func pointwise(t *testing.T, d ir.DType, op ir.Op) *ir.Program {
	p := ir.New("pointwise")
	x, kernel, y := ir.Shape{2, 7, 9, 72}, ir.Shape{1, 1, 72, 80}, ir.Shape{2, 7, 9, 80}
	a := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}
	in := func(s ir.Shape) ir.Value { return p.AddInput("in", ir.Type{DType: d, Shape: s}) }
	var v []ir.Value
	var err error
	switch op {
	case ir.Conv:
		v, err = p.Add("layer", op, a, in(x), in(kernel))
	case ir.ConvInputGrad:
		v, err = p.Add("layer", op, ir.ConvGradAttrs{Conv: a, Shape: x}, in(y), in(kernel))
	default:
		v, err = p.Add("layer", op, ir.ConvGradAttrs{Conv: a, Shape: kernel}, in(x), in(y))
	}
	require.NoError(t, err)
	p.AddOutput("out", v[0])
	return p
}

// Operands of products, of batches of them and of convolutions of single pixels are copied in bulk: boxes that lie
// partly outside, in every layout, whatever stage is filled again and in which order copies and threads come.
func TestBulkCopies(t *testing.T) {
	for i := range 11 {
		b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3]}))
		b.pick, b.stages = inBulk, 2+i%2
		d := []ir.DType{ir.BFloat16, ir.Float16}[i%2]
		p := batches(t, d, i&2 > 0, i&4 > 0)
		if i%2 == 0 {
			p = product(t, d, 72, 136, 248, i&2 > 0, i&4 > 0, true)
		}
		if i >= 8 {
			p = pointwise(t, d, []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad}[i-8])
		}
		require.NotContains(t, plainText(t, b, p), "cp.async.cg")
		if i < 4 && i%2 == 0 { // all threads read the stages
			outputs := len(p.Outputs)
			withSums(t, rand.New(rand.NewPCG(1, 41)), p)
			require.Greater(t, len(p.Outputs), outputs)
			require.Equal(t, 1, strings.Count(plainText(t, b, p), ".visible .entry"))
		}
		agrees(t, b, p, rand.New(rand.NewPCG(uint64(i), 41)), 4)
	}
}

// plainText is the text of a program's kernels.
func plainText(t *testing.T, b *backend, p *ir.Program) string {
	e, err := b.Compile(p, kernels.CompileOptions{Device: kernels.Device{Kind: Kind}})
	require.NoError(t, err)
	defer e.Close()
	text := e.(*executable).plan.Text
	require.Contains(t, text, "cp.async.bulk.tensor")
	return text
}

// A matrix is described once for each place where it lies: steps that are replayed describe nothing, other buffers are
// described anew. A description that fails is an error of that launch alone.
func TestTensorMaps(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{})
	b := on(t, f)
	b.pick = inBulk
	d := kernels.Device{Kind: Kind}
	p := product(t, ir.BFloat16, 64, 64, 64, false, false, false)
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	require.NoError(t, err)
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: d})
	require.NoError(t, err)
	defer s.Close()
	buffers := func() []kernels.Buffer {
		var all []kernels.Buffer
		for i := range 3 {
			x, err := b.NewBuffer(d, ir.Type{DType: ir.BFloat16, Shape: ir.Shape{64, 64}})
			require.NoError(t, err)
			t.Cleanup(x.Free)
			require.NoError(t, x.Write(wholeNumbers(x.Type(), i)))
			all = append(all, x)
		}
		return all
	}
	first, second := buffers(), buffers()
	launch := func(on []kernels.Buffer) error {
		return s.Launch(context.Background(), kernels.Launch{Inputs: on[:2], Outputs: on[2:]}).Wait(context.Background())
	}
	count := func() int { return f.Calls()["cuTensorMapEncodeTiled"] }
	for range 5 {
		require.NoError(t, launch(first))
	}
	assert.Equal(t, 2, count())
	assert.Positive(t, f.Calls()["cuGraphLaunch"])
	require.NoError(t, launch(second))
	assert.Equal(t, 4, count(), "other places")
	var results [2][]byte
	for i, on := range [][]kernels.Buffer{first, second} {
		results[i] = make([]byte, 2*64*64)
		require.NoError(t, on[2].Read(results[i]))
	}
	assert.Equal(t, results[0], results[1])
	for n := 1; n <= 2; n++ {
		f.Fail("cuTensorMapEncodeTiled", n)
		err = launch(first)
		require.ErrorContains(t, err, "cuTensorMapEncodeTiled")
		require.ErrorContains(t, err, "layer: dot: a matrix")
		var failed *driver.Error
		require.ErrorAs(t, err, &failed)
		f.Fail("", 0)
		require.NoError(t, launch(first))
		require.NoError(t, launch(second))
	}
}

// Drivers that describe no matrices, operands whose lines are not a multiple of 16 bytes apart, and what is not a
// product of matrices do without bulk copies.
func TestNoBulkCopies(t *testing.T) {
	ways := func(o fakedriver.Options, p *ir.Program) (all []string) {
		b := on(t, fakedriver.New(o))
		b.pick = func(q lower.Question) int {
			all = q.Ways
			return q.Usual
		}
		e, err := b.Compile(p, kernels.CompileOptions{Device: kernels.Device{Kind: Kind}})
		require.NoError(t, err)
		e.Close()
		return all
	}
	bulk := func(ways []string) bool { return strings.Contains(fmt.Sprint(ways), lower.BulkMark) }
	p := product(t, ir.BFloat16, 64, 72, 64, false, true, false)
	require.True(t, bulk(ways(fakedriver.Options{}, p)))
	require.False(t, bulk(ways(fakedriver.Options{NoTensorMaps: true}, p)))
	require.False(t, bulk(ways(fakedriver.Options{Capability: 100}, p)))
	require.False(t, bulk(ways(fakedriver.Options{Version: 11080}, p)))
	require.False(t, bulk(ways(fakedriver.Options{}, product(t, ir.BFloat16, 64, 72, 66, false, true, false))))
	require.False(t, bulk(ways(fakedriver.Options{}, wideConvolution(t, rand.New(rand.NewPCG(1, 1)), ir.BFloat16, ir.Conv))))
}

// The same tiles with bulk copies are measured beside the usual ones.
func TestBulkCopiesAreMeasured(t *testing.T) {
	q := lower.Question{Ways: []string{"a/g", "b/g", "a/gb", "b/gb", "c"}, Usual: 1}
	assert.Equal(t, []int{4, 1, 0, 2, 3}, candidates(q))
}
