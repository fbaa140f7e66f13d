package cpu

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestSpareMatrices: products with bytes in borrowed buffers, which keep nothing, take turns using one place for
// panels.
func TestSpareMatrices(t *testing.T) {
	const n, products = 300, 5
	p := programBuilder{ir.New(""), t}
	typ := func(d ir.DType, rows int) ir.Type { return ir.Type{DType: d, Shape: ir.Shape{rows, n}} }
	x := p.AddInput("x", typ(ir.Int8, 4))
	inputs := []kernels.Buffer{newBuffer(here, typ(ir.Int8, 4))}
	for i := range products {
		w := p.AddInput(fmt.Sprint("w", i), typ(ir.Int8, n))
		wide := func(v ir.Value) ir.Value { return p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, v)[0] }
		y := p.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, wide(x), wide(w))[0]
		x = p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int8}, y)[0]
		b := newBuffer(here, typ(ir.Int8, n))
		require.NoError(t, b.Borrow(make([]byte, n*n)))
		inputs = append(inputs, b)
	}
	p.AddOutput("y", x)
	e, err := Backend{}.load(p.Program, kernels.CompileOptions{Device: here}, false)
	require.NoError(t, err)
	defer e.Close()
	out := newBuffer(here, typ(ir.Int8, 4))
	run := func() { require.NoError(t, e.Run(context.Background(), inputs, []kernels.Buffer{out})) }
	run()
	place := &e.rt.spare[0]
	run()
	require.Same(t, place, &e.rt.spare[0])
	require.Less(t, len(e.rt.spare), 2*n*n)
}
