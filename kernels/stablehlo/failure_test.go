package stablehlo

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Who reads a value that replaces an input reads it as it is kept, also where the output is the value by another name:
// a compiler would otherwise compute it again, from a copy of the input.
func TestReadersOfKeptValues(t *testing.T) {
	p := ir.New("step")
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{4}}
	slot, weight := p.AddInput("slot", typ), p.AddInput("weight", typ)
	add := func(op ir.Op, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, nil, in...)
		require.NoError(t, err)
		return out[0]
	}
	next := add(ir.Add, slot, weight)
	weightNext := add(ir.Mul, next, weight)
	p.AddAlias("slot", add(ir.Identity, add(ir.Identity, next)), 0)
	p.AddAlias("weight", add(ir.Identity, weightNext), 1)
	m, err := Lower(p, Options{Donate: true})
	require.NoError(t, err)
	kept := regexp.MustCompile(`(%v\d+) = stablehlo.select [^:]*, %arg0 :`).FindStringSubmatch(m.Text)
	require.Len(t, kept, 2, m.Text)
	require.Contains(t, m.Text, "stablehlo.multiply "+kept[1]+", %arg1", m.Text)
	require.Len(t, regexp.MustCompile("stablehlo.select").FindAllString(m.Text, -1), 2, m.Text)
	require.Contains(t, m.Text, "return "+kept[1]+",", m.Text)
}
