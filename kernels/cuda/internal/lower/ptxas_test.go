package lower_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// architectures are those in use.
var architectures = []string{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}

// NVIDIA's assembler accepts the kernels of the whole suite for each architecture, with few enough registers and no
// spills.
func TestAssembler(t *testing.T) {
	ptxas := assembler(t)
	var kernels []string
	for i, c := range kernelstest.Cases() {
		if !testing.Short() || i%8 == 0 {
			kernels = appendKernels(t, kernels, c.Program, lower.Options{})
		}
	}
	t.Logf("%d kernels", len(kernels))
	for n, architecture := range architectures {
		t.Run(architecture, func(t *testing.T) {
			// All kernels for the oldest architecture, and every seventh, each time a different seventh, for the
			// others.
			var chosen []string
			for i, k := range kernels {
				if n == 0 || i%len(architectures) == n {
					chosen = append(chosen, k)
				}
			}
			inBatches(t, ptxas, architecture, ptx.Header, chosen, 128)
		})
	}
}

// appendKernels appends a program's new kernels, under new names.
func appendKernels(t *testing.T, kernels []string, p *ir.Program, o lower.Options) []string {
	plan, err := lower.Program(p, o)
	require.NoError(t, err, p.Name)
	for _, k := range strings.Split(plan.Text, ".visible .entry ")[1:] {
		_, body, _ := strings.Cut(k, "(")
		if !slices.ContainsFunc(kernels, func(k string) bool { return strings.HasSuffix(k, "("+body) }) {
			kernels = append(kernels, fmt.Sprintf(".visible .entry k%d(%s", len(kernels), body))
		}
	}
	return kernels
}

func inBatches(t *testing.T, ptxas, architecture, header string, kernels []string, most int) {
	t.Helper()
	if !strings.Contains(header, ptx.Dynamic) { // used by row loops
		header += ptx.Dynamic
	}
	for batch := range slices.Chunk(kernels, 400) {
		assemble(t, ptxas, architecture, header+strings.Join(batch, ""), most)
	}
}

// Attention may use more registers than other kernels: its blocks are small, and its threads keep queries and sums.
func TestAssemblerOfAttention(t *testing.T) {
	ptxas := assembler(t)
	for n, c := range []struct {
		size, most int
		gradient   bool
		float      bool
		tf32       bool
	}{
		{40, 128, false, false, false}, {64, 128, false, false, false}, {128, 192, false, false, false}, {40, 192, true, false, false}, {64, 192, true, false, false}, {128, 255, true, false, false},
		{64, 128, false, true, false}, {128, 192, false, true, false}, {64, 192, true, true, false}, {128, 255, true, true, false},
		{64, 128, false, true, true}, {128, 192, false, true, true}, {64, 192, true, true, true}, {128, 255, true, true, true},
	} {
		var kernels []string
		d := ir.BFloat16
		if c.float {
			d = ir.Float32
		}
		for _, masked := range []bool{false, true} {
			kernels = appendKernels(t, kernels, attention(t, d, 1000, c.size, masked, c.gradient), lower.Options{Capability: 80, TF32: c.tf32})
		}
		for i, architecture := range architectures[1:] {
			if testing.Short() && i != n%len(architectures[1:]) {
				continue // each case for one architecture; each architecture has cases of both types
			}
			inBatches(t, ptxas, architecture, ptx.HeaderAmpere, kernels, c.most)
		}
	}
}

// The assembler accepts the kernels for tensor cores too, those of the suite and large ones.
func TestAssemblerOfTensorCores(t *testing.T) {
	ptxas := assembler(t)
	var kernels []string
	tensor := lower.Options{Capability: 80, TF32: true}
	for i, p := range tensorPrograms(t) {
		kernels = appendKernels(t, kernels, p, tensor)
		other := tensor
		other.Pick = func(lower.Question) int { return i % 5 }
		kernels = appendKernels(t, kernels, p, other)
	}
	for i, c := range kernelstest.Cases() {
		if plan, err := lower.Program(c.Program, tensor); err == nil && strings.HasPrefix(plan.Text, ptx.HeaderAmpere) && (!testing.Short() || i%8 == 0) {
			kernels = appendKernels(t, kernels, c.Program, tensor)
		}
	}
	t.Logf("%d kernels", len(kernels))
	for n, architecture := range architectures[1:] {
		t.Run(architecture, func(t *testing.T) {
			var chosen []string
			for i, k := range kernels {
				if n == 0 || i%len(architectures) == n {
					chosen = append(chosen, k)
				}
			}
			inBatches(t, ptxas, architecture, ptx.HeaderAmpere+ptx.Dynamic, chosen, 255)
		})
	}
}

// The assembler accepts warp-group products, and does not serialize them with copies.
func TestAssemblerOfWarpGroups(t *testing.T) {
	ptxas := assembler(t)
	var kernels []string
	for i, p := range tensorPrograms(t) {
		for way := range 12 {
			if i%5 != way%5 && (testing.Short() || i%5 > 2) {
				continue
			}
			o := lower.Options{Capability: 90, Hopper: true, Bulk: true, Pick: func(lower.Question) int { return way }}
			if plan, err := lower.Program(p, o); err == nil && strings.Contains(plan.Text, "wgmma") {
				kernels = appendKernels(t, kernels, p, o)
			}
		}
	}
	require.NotEmpty(t, kernels)
	t.Logf("%d kernels", len(kernels))
	inBatches(t, ptxas, "sm_90a", ptx.HeaderHopper+ptx.Dynamic, kernels, 255)
}

// The assembler accepts large reductions, several at once, with few enough registers: those of batch normalization.
// Also pooling.
func TestAssemblerOfReductions(t *testing.T) {
	ptxas := assembler(t)
	var kernels, pools []string
	for _, d := range []ir.DType{ir.Float32, ir.BFloat16} {
		kernels = appendKernels(t, kernels, batchNorm(t, d), lower.Options{})
		for _, window := range []int{2, 3, 5} {
			pools = appendKernels(t, pools, pooling(t, d, window), lower.Options{})
		}
	}
	for _, architecture := range architectures {
		inBatches(t, ptxas, architecture, ptx.Header, kernels, 128)
		inBatches(t, ptxas, architecture, ptx.Header, pools, 64)
	}
}

// The assembler accepts group normalization and its gradient, for groups along the innermost axis and across it.
func TestAssemblerOfNormalizations(t *testing.T) {
	ptxas := assembler(t)
	var kernels []string
	for _, d := range []ir.DType{ir.Float32, ir.BFloat16, ir.Float64} {
		for _, groups := range []int{4, 64} {
			p := ir.New("normalization")
			in := func(shape ...int) ir.Value { return p.AddInput("in", ir.Type{DType: d, Shape: shape}) }
			a := ir.GroupNormAttrs{Groups: groups, Epsilon: 1e-3}
			x, scale := in(16, 7, 7, 64), in(64)
			out, err := p.Add("layer", ir.GroupNorm, a, x, scale, in(64))
			require.NoError(t, err)
			gradients, err := p.Add("layer", ir.GroupNormGrad, a, x, scale, out[1], out[2], in(16, 7, 7, 64))
			require.NoError(t, err)
			for _, v := range append(gradients, out[0]) {
				p.AddOutput("out", v)
			}
			kernels = appendKernels(t, kernels, p, lower.Options{})
		}
	}
	of := architectures
	if testing.Short() {
		of = of[:2]
	}
	for _, architecture := range of {
		inBatches(t, ptxas, architecture, ptx.Header, kernels, 128)
	}
}

// The assembler accepts the kernels before and after library calls.
func TestAssemblerBesideLibraries(t *testing.T) {
	ptxas := assembler(t)
	for _, library := range []string{lower.BLAS, lower.DNN} {
		var kernels []string
		for _, p := range tensorPrograms(t) {
			kernels = appendKernels(t, kernels, p, lower.Options{Capability: 80, Library: func(lower.Question) string { return library }})
		}
		inBatches(t, ptxas, "sm_80", ptx.HeaderAmpere+ptx.Dynamic, kernels, 255)
	}
}

// The assembler accepts products and convolutions whose kernels compute statistics of their results, with tiles of
// every size.
func TestAssemblerOfStatistics(t *testing.T) {
	ptxas := assembler(t)
	var kernels, plain, groups []string
	for _, d := range []ir.DType{ir.BFloat16, ir.Float32} {
		for _, rows := range []int{1000, 100000} {
			p := statistics(t, d, rows)
			plain = appendKernels(t, plain, p, lower.Options{})
			for way := range 6 {
				o := lower.Options{Capability: 80, TF32: true, Pick: func(lower.Question) int { return way }}
				if way < 5 {
					kernels = appendKernels(t, kernels, p, o)
				}
				if o.Capability, o.Hopper, o.Bulk = 90, true, true; d.IsHalf() && (!testing.Short() || way == 0 || way == 3) {
					o.Pick = func(lower.Question) int { return way + 6*(way%2) } // odd ways use bulk copies
					groups = appendKernels(t, groups, p, o)
				}
			}
		}
	}
	inBatches(t, ptxas, "sm_75", ptx.Header, plain, 128)
	inBatches(t, ptxas, "sm_80", ptx.HeaderAmpere+ptx.Dynamic, kernels, 255)
	inBatches(t, ptxas, "sm_90a", ptx.HeaderHopper+ptx.Dynamic, groups, 255)
}

// statistics is a product, with the mean and the variance of its columns.
func statistics(t testing.TB, d ir.DType, rows int) *ir.Program {
	p := ir.New("statistics")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	y := add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{rows, 64}}), p.AddInput("w", ir.Type{DType: d, Shape: ir.Shape{64, 512}}))
	p.AddOutput("y", y)
	if d.IsHalf() {
		y = add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, y)
	}
	mean := func(x ir.Value) ir.Value {
		n := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, float64(rows), 512)})
		return add(ir.Div, nil, add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x), n)
	}
	m := mean(y)
	d2 := add(ir.Sub, nil, y, add(ir.Broadcast, ir.BroadcastAttrs{Shape: p.Type(y).Shape, Axes: []int{1}}, m))
	v := mean(add(ir.Mul, nil, d2, d2))
	for _, x := range []ir.Value{m, v, add(ir.Rsqrt, nil, v)} {
		p.AddOutput("", x)
	}
	return p
}

// pooling is pooling with overlapping windows, and its gradients.
func pooling(t testing.TB, d ir.DType, window int) *ir.Program {
	p := ir.New("pooling")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("pool", op, attrs, in...)
		require.NoError(t, err)
		p.AddOutput("out", v[0])
		return v[0]
	}
	a := ir.PoolAttrs{Window: []int{window, window}, Strides: []int{2, 2}, PadLow: []int{1, 0}, PadHigh: []int{0, 1}}
	x := p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{64, 28, 28, 64}})
	y := add(ir.MaxPool, a, x)
	dy := p.AddInput("dy", p.Type(y))
	add(ir.AvgPool, a, x)
	add(ir.MaxPoolGrad, a, x, y, dy)
	add(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: a, Shape: p.Type(x).Shape}, dy)
	return p
}

func assembler(t *testing.T) string {
	ptxas := os.Getenv("GOKERAS_PTXAS")
	if ptxas == "" {
		t.Skip("GOKERAS_PTXAS does not name NVIDIA's assembler ptxas (the Python package nvidia-cuda-nvcc-cu12 has one)")
	}
	return ptxas
}

var (
	registers = regexp.MustCompile(`Used (\d+) registers`)
	spills    = regexp.MustCompile(`(\d+) bytes spill stores`)
)

func assemble(t *testing.T, ptxas, architecture, text string, most int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kernels.ptx")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	out, err := exec.Command(ptxas, "-v", "-arch="+architecture, "-o", file+".cubin", file).CombinedOutput()
	require.NoError(t, err, "%.2000s", out)
	assert.NotContains(t, string(out), "serialized") // of warp groups
	kernels := strings.Split(string(out), "Compiling entry function '")[1:]
	require.Len(t, kernels, strings.Count(text, ".entry "))
	for _, k := range kernels {
		name, rest, _ := strings.Cut(k, "'")
		_, body, _ := strings.Cut(text, ".entry "+name+"(")
		limit := most
		if _, block, _ := strings.Cut(body, "\n"); strings.HasPrefix(block, ".maxntid 32,") {
			limit = 255 // blocks of one warp: the assembler unrolls their loops freely
		}
		assert.Equal(t, "0", spills.FindStringSubmatch(rest)[1], "bytes spilled by %s for %s", name, architecture)
		n, err := strconv.Atoi(registers.FindStringSubmatch(rest)[1])
		require.NoError(t, err)
		assert.LessOrEqual(t, n, limit, "registers of %s for %s", name, architecture)
	}
}

// Every op runs on the device in some way.
func TestEveryOp(t *testing.T) {
	for _, op := range ir.Ops() {
		assert.NotEmpty(t, lower.How(op), "%v", op)
	}
}
