package cpu

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestPackedColumns multiplies by random matrices that are packed by columns. Their panels and transposed scales are
// kept after the second run. Then it changes each operand. A bias, another value and a relu may follow.
func TestPackedColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	number := func(typ ir.Type, most int) reference.Value {
		values := make([]float64, typ.Shape.Size())
		for i := range values {
			if values[i] = r.NormFloat64(); most > 0 {
				values[i] = float64(r.IntN(most))
			}
		}
		v, err := reference.New(typ.DType, typ.Shape, values...)
		require.NoError(t, err)
		return v
	}
	for try := range 60 {
		rows, k, columns := 1+r.IntN(5)*r.IntN(20), 1+r.IntN(300), 1+r.IntN(200) // by digits, unpacked to bytes and to floats
		a := ir.PackedDotAttrs{Columns: columns, Block: 1 + r.IntN(k+9), ByColumns: true, Bits: [...]int{0, 0, 2, 3, 8, 8}[try%6]}
		bytes, most := (columns+1)/2, []int{0, 256, 0, [...]int{17, 256}[try/6%2], 0, 0} // zero points of Keras are beyond the numbers where a block is far from 0
		if a.Bits > 0 {
			bytes, most[1] = columns, 1<<a.Bits
		}
		scales := ir.Shape{columns, (k + a.Block - 1) / a.Block}
		types := []ir.Type{{DType: ir.Float32, Shape: ir.Shape{rows, k}}, {DType: ir.Uint8, Shape: ir.Shape{bytes, k}}, {DType: ir.Float32, Shape: scales}, {DType: ir.Uint8, Shape: scales}}
		p := passProgram{t, ir.New("packed")}
		var in []ir.Value
		for _, typ := range types {
			in = append(in, p.p.AddInput("", typ))
		}
		y0 := p.add(ir.PackedDot, a, in...)
		if then := r.IntN(16); then > 0 { // what the product does to its result
			shape := ir.Shape{rows, columns}
			if columns%2 == 0 && then&8 > 0 {
				shape = ir.Shape{rows, columns / 2, 2}
				y0 = p.add(ir.Reshape, ir.ReshapeAttrs{Shape: shape}, y0)
			}
			more := func(s ir.Shape) ir.Value {
				types = append(types, ir.Type{DType: ir.Float32, Shape: s})
				return p.p.AddInput("", types[len(types)-1])
			}
			if then&1 > 0 {
				axes := []int{1, 2}[:len(shape)-1]
				y0 = p.add(ir.Add, nil, y0, p.add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: axes}, more(shape[1:])))
			}
			if then&2 > 0 {
				y0 = p.add(ir.Add, nil, more(shape), y0)
			}
			if then&4 > 0 {
				y0 = p.add(ir.Relu, nil, y0)
			}
		}
		p.p.AddOutput("y", y0)
		paths := isa.Paths()
		restore := isa.Override(paths[try/2%len(paths)])
		e, err := Backend{}.load(p.p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		var values []reference.Value
		var buffers []kernels.Buffer
		for i, typ := range types {
			values, buffers = append(values, number(typ, most[i])), append(buffers, newBuffer(testDevice, typ))
			require.NoError(t, buffers[i].(*buffer).Write(values[i].Bytes()))
		}
		y := newBuffer(testDevice, p.p.Type(p.p.Outputs[0].Value))
		for changed := -1; changed < len(types); changed++ {
			if changed >= 0 {
				values[changed] = number(types[changed], most[changed])
				require.NoError(t, buffers[changed].(*buffer).Write(values[changed].Bytes()))
			}
			want, err := reference.Run(p.p, values)
			require.NoError(t, err)
			for run := range 4 {
				require.NoError(t, e.Run(context.Background(), buffers, []kernels.Buffer{y}))
				got, err := reference.FromBytes(y.Type(), append([]byte(nil), y.data...))
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(got, want[0], 1<<10, true), "%d rows, %d by %d, %+v, run %d after %d changed", rows, k, columns, a, run, changed)
			}
		}
		e.Close()
		restore()
	}
}

// TestSumsOfLongBlocks: sums of digits times numbers that are far from their zero point do not overflow.
func TestSumsOfLongBlocks(t *testing.T) {
	const k = 70000
	fill := func(typ ir.Type, v float64) reference.Value {
		values := make([]float64, typ.Shape.Size())
		for i := range values {
			values[i] = v
		}
		value, err := reference.New(typ.DType, typ.Shape, values...)
		require.NoError(t, err)
		return value
	}
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		p := passProgram{t, ir.New("packed")}
		types := []ir.Type{{DType: ir.Float32, Shape: ir.Shape{1, k}}, {DType: ir.Uint8, Shape: ir.Shape{32, k}}, {DType: ir.Float32, Shape: ir.Shape{64, 1}}, {DType: ir.Uint8, Shape: ir.Shape{64, 1}}}
		var in []ir.Value
		var values []reference.Value
		var buffers []kernels.Buffer
		for i, typ := range types {
			in, values, buffers = append(in, p.p.AddInput("", typ)), append(values, fill(typ, []float64{0.992, 0, 0.5, 255}[i])), append(buffers, newBuffer(testDevice, typ))
			require.NoError(t, buffers[i].(*buffer).Write(values[i].Bytes()))
		}
		p.p.AddOutput("y", p.add(ir.PackedDot, ir.PackedDotAttrs{Columns: 64, Block: k, ByColumns: true}, in...))
		e, err := Backend{}.load(p.p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		want, err := reference.Run(p.p, values)
		require.NoError(t, err)
		y := newBuffer(testDevice, p.p.Type(p.p.Outputs[0].Value))
		require.NoError(t, e.Run(context.Background(), buffers, []kernels.Buffer{y}))
		got, err := reference.FromBytes(y.Type(), append([]byte(nil), y.data...))
		require.NoError(t, err)
		require.InEpsilonSlice(t, want[0].F, got.F, 1e-4, "%v", path)
		e.Close()
		restore()
	}
}
