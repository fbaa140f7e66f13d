package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestPairsForProgramsThatGain: where the processor multiplies pairs of bfloat16, a program does so if its products
// save more than rounding costs, also in loops, and more than setting up matrix registers costs. Elsewhere no program
// does.
func TestPairsForProgramsThatGain(t *testing.T) {
	loop := func(p *ir.Program, length int) *ir.Program {
		loop := passProgram{t, ir.New("loop")}
		in := make([]ir.Value, len(p.Inputs))
		for i, v := range p.Inputs {
			in[i] = loop.p.AddInput(v.Name, p.Type(v.Value))
		}
		loop.p.AddOutput("y", loop.add(ir.Scan, ir.ScanAttrs{Body: p, Length: length}, in...))
		return loop.p
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for _, c := range []struct {
				program                *ir.Program
				halves, wholes, matrix bool // gain: vectors that are computed by halves, whole ones, and matrix registers
			}{
				{twoProducts(t, ir.BFloat16, 1, 70), false, false, false},
				{twoProducts(t, ir.BFloat16, 9, 10), false, false, false},
				{twoProducts(t, ir.BFloat16, 16, 70), true, false, false},
				{twoProducts(t, ir.BFloat16, 32, 200), true, true, true},
				{twoProducts(t, ir.BFloat16, 3, 1000), false, false, false},
				{loop(twoProducts(t, ir.BFloat16, 1, 70), 9), false, false, false},
				{loop(twoProducts(t, ir.BFloat16, 32, 200), 9), true, true, true},
			} {
				for _, halves := range []bool{true, false} {
					restore := isa.OverrideHalfUnits(halves)
					wide := widens(c.program)
					restore()
					gains := c.wholes
					switch active := isa.Active(); {
					case active.Has(isa.AMXBF16):
						gains = c.matrix
					case halves || !active.Has(isa.Vectors512):
						gains = c.halves
					}
					require.Equal(t, !(micro.Pairs() && gains), wide(ir.BFloat16), "%v", c.program)
					require.True(t, wide(ir.Float16))
				}
			}
		})
	}
}

// TestKernelGradientOfOneImage: half of each pair is zero, so vectors gain nothing. Of three images, two gain.
func TestKernelGradientOfOneImage(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			if !micro.Pairs() {
				t.Skip("needs products of pairs (AVX512-BF16, AMX), which this path has not")
			}
			gain := func(c *pairCosts, images int) float64 {
				p := passProgram{t, ir.New("gradient")}
				input := func(channels int) ir.Value {
					return p.p.AddInput("", ir.Type{DType: ir.BFloat16, Shape: ir.Shape{images, 8, 8, channels}})
				}
				a := ir.ConvGradAttrs{Conv: ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}, Shape: ir.Shape{3, 3, 16, 32}}
				p.p.AddOutput("y", p.add(ir.ConvKernelGrad, a, input(16), input(32)))
				return c.ofProduct(p.p, &p.p.Nodes[0], false, false)
			}
			require.Negative(t, gain(&vectorCosts, 1))
			require.Positive(t, gain(&vectorCosts, 2))
			require.InEpsilon(t, gain(&vectorCosts, 2)+gain(&vectorCosts, 1), gain(&vectorCosts, 3), 1e-9)
			require.InEpsilon(t, 3*gain(&matrixCosts, 1), gain(&matrixCosts, 3), 1e-9)
		})
	}
}

// TestConvolutionsOfFewFilters: float32 has special kernels for them, pairs do not.
func TestConvolutionsOfFewFilters(t *testing.T) {
	if !micro.Pairs() {
		t.Skip("needs products of pairs (AVX512-BF16, AMX), which this processor has not")
	}
	gain := func(c *pairCosts, filters int) float64 {
		p := passProgram{t, ir.New("convolution")}
		input := func(shape ...int) ir.Value { return p.p.AddInput("", ir.Type{DType: ir.BFloat16, Shape: shape}) }
		a := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}
		p.p.AddOutput("y", p.add(ir.Conv, a, input(8, 14, 14, 128), input(3, 3, 128, filters)))
		return c.ofProduct(p.p, &p.p.Nodes[0], false, false)
	}
	for filters := 1; filters <= 8; filters++ {
		require.Negative(t, gain(&vectorCosts, filters), "%d filters", filters)
		require.Less(t, gain(&matrixCosts, filters), gain(&matrixCosts, filters+1), "%d filters", filters)
	}
	require.Positive(t, gain(&vectorCosts, 16))
}

// TestKernelGradientsOfFewChannels: for colour images they fill only part of a matrix register, so interleaving images
// costs more than small windows save.
func TestKernelGradientsOfFewChannels(t *testing.T) {
	if !micro.Pairs() {
		t.Skip("needs products of pairs (AVX512-BF16, AMX), which this processor has not")
	}
	gain := func(channels, window int) float64 {
		p := passProgram{t, ir.New("gradient")}
		input := func(channels int) ir.Value {
			return p.p.AddInput("", ir.Type{DType: ir.BFloat16, Shape: ir.Shape{8, 32, 32, channels}})
		}
		pad := []int{window / 2, window / 2}
		a := ir.ConvGradAttrs{Conv: ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: pad, PadHigh: pad, Groups: 1},
			Shape: ir.Shape{window, window, channels, 64}}
		p.p.AddOutput("y", p.add(ir.ConvKernelGrad, a, input(channels), input(64)))
		return matrixCosts.ofProduct(p.p, &p.p.Nodes[0], false, false)
	}
	require.Negative(t, gain(3, 1))
	require.Positive(t, gain(3, 7))
	require.Positive(t, gain(8, 1))
}

// TestProductsInLoops: in matrix registers a result costs less in a loop, where it stays in the cache.
func TestProductsInLoops(t *testing.T) {
	if !micro.Pairs() {
		t.Skip("needs products of pairs (AVX512-BF16, AMX), which this processor has not")
	}
	p := twoProducts(t, ir.BFloat16, 8, 300)
	require.Greater(t, matrixCosts.gain(p, true, false), matrixCosts.gain(p, false, false))
	require.Equal(t, vectorCosts.gain(p, true, false), vectorCosts.gain(p, false, false))
}

// TestProductsInPairsAmidFloat32: where vectors of pairs are computed by halves, a product of some rows with a variable
// of 16 bits stays in pairs though the program gains nothing by them, because its gradient would lose. Products with
// variables of float32, which are rounded first, and small ones do not.
func TestProductsInPairsAmidFloat32(t *testing.T) {
	training := func(variable ir.DType, rows, units int) *ir.Program {
		b := passProgram{t, ir.New("training")}
		x, w := b.p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, units}}), b.p.AddInput("w", ir.Type{DType: variable, Shape: ir.Shape{units, units}})
		half, by := b.add(ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, x), w
		if variable == ir.Float32 {
			by = b.add(ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, w)
		}
		y := b.add(ir.Tanh, nil, b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, half, by))
		g := b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, half, y)
		if variable == ir.Float32 {
			g = b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, g)
		}
		b.p.AddOutput("w", b.add(ir.Sub, nil, w, g))
		b.p.Outputs[0].Alias = 1
		return b.p
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			active := isa.Active()
			for _, c := range []struct {
				variable    ir.DType
				rows, units int
				pairs       bool
			}{{ir.BFloat16, 4, 512, true}, {ir.BFloat16, 4, 64, false}, {ir.Float32, 4, 512, false}} {
				for _, halves := range []bool{true, false} {
					restore := isa.OverrideHalfUnits(halves)
					p := training(c.variable, c.rows, c.units)
					q, err := excessPrecision(p, widens(p)).Run(p)
					restore()
					require.NoError(t, err)
					var types []ir.DType
					for _, n := range q.Nodes {
						if n.Op == ir.Dot {
							types = append(types, q.Type(n.Inputs[0]).DType)
						}
					}
					want := []ir.DType{ir.Float32, ir.Float32}
					if c.pairs && halves && micro.Pairs() && active.Has(isa.Vectors512) && !active.Has(isa.AMXBF16) {
						want[0] = ir.BFloat16
					}
					require.Equal(t, want, types, "%+v halves %v", c, halves)
				}
			}
		})
	}
}
