package cpu

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

var (
	firstComposite = flag.Uint64("composites-first", 0, "the first seed of TestRandomComposites")
	manyComposites = flag.Uint64("composites", 0, "how many programs TestRandomComposites draws; 0: the usual number")
)

// shortComposites are the seeds for -short. Their programs are mostly small, and together have every op, type and size
// that the first hundreds have.
var shortComposites = []uint64{6, 8, 9, 13, 18, 20, 22, 33, 34, 39, 44, 45, 51, 68, 72, 75, 80, 92, 103, 105, 111, 137, 144, 155, 179, 277, 70798}

// run runs the program twice with the given number of workers. Outputs that replace inputs share their buffers.
func (c *composer) run(t *testing.T, workers int, plain bool) []reference.Value {
	t.Helper()
	before := goruntime.GOMAXPROCS(workers)
	defer goruntime.GOMAXPROCS(before)
	e, err := Backend{}.load(c.Program, kernels.CompileOptions{Device: testDevice}, plain)
	require.NoError(t, err, "%v", c.Program)
	defer e.Close()
	var results []reference.Value
	for range 2 {
		var in, out []kernels.Buffer
		for _, v := range c.inputs {
			b := newBuffer(testDevice, v.Type)
			require.NoError(t, b.Write(v.Bytes()))
			in = append(in, b)
		}
		for _, o := range c.Outputs {
			if o.Alias >= 0 {
				out = append(out, in[o.Alias])
				continue
			}
			b := newBuffer(testDevice, c.Type(o.Value))
			require.NoError(t, b.Write(bytes.Repeat([]byte{0xff}, b.Type().Bytes())))
			out = append(out, b)
		}
		require.NoError(t, e.Run(context.Background(), in, out), "%v", c.Program)
		var again []reference.Value
		for i, b := range out {
			v, err := reference.FromBytes(b.Type(), b.(*buffer).Bytes())
			require.NoError(t, err)
			again = append(again, v)
			if results != nil {
				require.Equal(t, results[i].Bytes(), v.Bytes(), "output %d has other bits in the second run of\n%v", i, c.Program)
			}
		}
		results = again
	}
	return results
}

// TestRandomComposites compares such programs with the reference, for each instruction set, fused or not. The bits are
// the same for any number of workers.
func TestRandomComposites(t *testing.T) {
	seeds := shortComposites
	if count := *manyComposites; count > 0 || !testing.Short() {
		if seeds = nil; count == 0 {
			count = 300
		}
		for i := range count {
			seeds = append(seeds, *firstComposite+i)
		}
	}
	paths := isa.Paths()
	for _, without := range []isa.Features{isa.AVX512BF16 | isa.AVX512BF16Round, isa.AVX512VNNI} { // processors that have less
		if isa.Executable().Has(without) {
			paths = append(paths, isa.Executable()&^without)
		}
	}
	for _, seed := range seeds {
		c := compose(seed)
		if len(c.Outputs) == 0 {
			continue
		}
		require.NoError(t, c.Verify(), "%v", c.Program)
		want, err := reference.Run(c.Program, c.inputs)
		require.NoError(t, err, "%v", c.Program)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for i, path := range paths {
				c.compare(t, path, want, i == int(seed)%len(paths))
			}
			c.keepApart(t, paths[int(seed)%len(paths)], want)
		})
	}
}

func (c *composer) compare(t *testing.T, path isa.Features, want []reference.Value, plain bool) {
	t.Helper()
	defer func() {
		if problem := recover(); problem != nil {
			t.Errorf("%v, panic: %v\n%v\n%s", path, problem, c.Program, debug.Stack())
		}
	}()
	defer isa.Override(path)()
	one := c.run(t, 1, false)
	for i := range want {
		require.NoError(t, c.differs(one[i], want[i]), "%v, output %d of\n%v", path, i, c.Program)
	}
	for _, workers := range []int{2, 3, 7} {
		several := c.run(t, workers, false)
		for i := range one {
			require.Equal(t, one[i].Bytes(), several[i].Bytes(), "%v, %d workers, output %d has other bits in\n%v", path, workers, i, c.Program)
		}
	}
	if plain {
		alone := c.run(t, 2, true)
		for i := range want {
			require.NoError(t, c.differs(alone[i], want[i]), "%v, not fused, output %d of\n%v", path, i, c.Program)
		}
	}
}

// differs compares a result with the reference's. If inputs are not finite, results may be NaN or infinite, depending
// on how a formula is written.
func (c *composer) differs(got, want reference.Value) error {
	if c.odd > 0 {
		got, want = got.Clone(), want.Clone()
		for i, w := range want.F {
			if odd(w) && odd(got.F[i]) {
				got.F[i], want.F[i] = 0, 0
			}
		}
	}
	return kernelstest.Compare(got, want, c.units, true)
}

func odd(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// keepApart replaces a row of an input by NaN. Results that do not depend on it in the reference must keep their bits.
func (c *composer) keepApart(t *testing.T, path isa.Features, want []reference.Value) {
	t.Helper()
	defer isa.Override(path)()
	const k = 0 // the data; padding times a kernel that is no number is none, or nothing
	typ := c.inputs[k].Type
	// It is not defined whether hidden elements count. Also, moving rows by a number may change numbers that are only
	// equal in the reference because they are rounded.
	mixes := slices.ContainsFunc(c.Nodes, func(n ir.Node) bool { return n.Op == ir.AttentionGrad || n.Op == ir.Sort || n.Op == ir.TopK })
	if mixes || c.odd > 0 || !typ.DType.IsFloat() || len(typ.Shape) == 0 || typ.Shape[0] < 2 || typ.Shape.Size() == 0 {
		return
	}
	before := c.run(t, 2, false)
	whole := c.inputs[k]
	defer func() { c.inputs[k] = whole }()
	c.inputs[k] = whole.Clone()
	n := typ.Shape.Size() / typ.Shape[0]
	row := c.rng.IntN(typ.Shape[0])
	for i := range n {
		c.inputs[k].F[row*n+i] = math.NaN()
	}
	apart, err := reference.Run(c.Program, c.inputs)
	require.NoError(t, err)
	after := c.run(t, 2, false)
	for i, v := range want {
		for e := range v.F {
			same := math.Float64bits(before[i].F[e]) == math.Float64bits(after[i].F[e])
			if !same && !math.IsNaN(v.F[e]) && v.F[e] == apart[i].F[e] {
				t.Fatalf("%v: element %d of output %d is %v, and %v when row %d of input %d is NaN, which it does not depend on\n%v", path, e, i, before[i].F[e], after[i].F[e], row, k, c.Program)
			}
		}
	}
}
