package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func einsum(equation string) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Einsum(equation, in...)} }
}

func init() {
	n := opstest.Normal
	for i, s := range [][2][]int{
		{{2, 3}, {3, 4}}, {{3}, {3}}, {{3}, {3, 2}}, {{2, 3}, {3}}, {{5, 2, 3}, {3, 2}}, {{2, 2, 3}, {2, 3, 2}}, {{2, 1, 2, 3}, {3, 3, 2}},
		{{3}, {2, 3, 2}}, {{2, 4, 3}, {3}}, {{0, 3}, {3, 2}}, {{2, 0}, {0, 2}}, {{1, 1}, {1, 1}}, {{2, 1, 2, 1}, {3, 1, 4}},
	} {
		a, b := n(2*i, s[0]...), n(2*i+1, s[1]...)
		addCase(caseName("matmul", a, b), true, binary(ops.Matmul), a, b)
	}
	dots := []struct {
		a, b  []int
		attrs ir.DotAttrs
	}{
		{[]int{2, 3, 4}, []int{4, 2, 3}, ir.DotAttrs{LhsContract: []int{0, 2}, RhsContract: []int{1, 0}}},
		{[]int{2, 3, 4}, []int{4, 5, 3}, ir.DotAttrs{LhsBatch: []int{1}, RhsBatch: []int{2}, LhsContract: []int{2}, RhsContract: []int{0}}},
		{[]int{2, 3, 4}, []int{4, 3, 2}, ir.DotAttrs{LhsBatch: []int{2, 0}, RhsBatch: []int{0, 2}}},
		{[]int{2, 3, 4}, []int{3, 2, 4}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{1}, LhsContract: []int{2, 1}, RhsContract: []int{2, 0}}},
		{[]int{2}, []int{3}, ir.DotAttrs{}},
	}
	for i, d := range dots {
		a, b := n(2*i, d.a...), n(2*i+1, d.b...)
		addCase(caseName("dot", a, b), true, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Dot(a, b, d.attrs) }), a, b)
	}
	addCase("tensordot", true, binary(func(a, b *ops.Tensor) *ops.Tensor {
		return ops.Tensordot(a, b, []int{-1, 0}, []int{0, -1})
	}), n(1, 2, 3, 4), n(2, 4, 3, 2))
	einsums := []struct {
		equation string
		shapes   [][]int
	}{
		{"ij,jk->ik", [][]int{{2, 3}, {3, 4}}},
		{"ij->ji", [][]int{{2, 3}}},
		{"ij->", [][]int{{2, 3}}},
		{"ii->i", [][]int{{3, 3}}},
		{"ii", [][]int{{3, 3}}},
		{"iij->j", [][]int{{2, 2, 3}}},
		{"bij,bjk->bik", [][]int{{2, 2, 3}, {2, 3, 2}}},
		{"...ij,...jk->...ik", [][]int{{2, 1, 2, 3}, {3, 3, 2}}},
		{"abc,cd->abd", [][]int{{2, 2, 3}, {3, 2}}},
		{"i,j,k->kij", [][]int{{2}, {3}, {2}}},
		{"ab,bc,cd->ad", [][]int{{2, 3}, {3, 2}, {2, 2}}},
		{"ab,ac->a", [][]int{{2, 3}, {2, 4}}},
		{"ij,ij->", [][]int{{1, 3}, {2, 3}}},
		{"i...->...", [][]int{{2, 3, 4}}},
		{"aecd,abcd->acbe", [][]int{{2, 3, 2, 2}, {2, 2, 2, 2}}},
	}
	for _, e := range einsums {
		in := make([]opstest.Array, len(e.shapes))
		for i, s := range e.shapes {
			in[i] = n(i, s...)
		}
		addCase("einsum "+e.equation, true, einsum(e.equation), in...)
	}
	addCase("outer", true, binary(ops.Outer), n(1, 2, 2), n(2, 3))
}

func TestEinsumResults(t *testing.T) {
	a := opstest.Floats([]int{2, 2}, 1, 2, 3, 4)
	b := opstest.Floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	tests := []struct {
		equation string
		in       []opstest.Array
		shape    []int
		want     []float64
	}{
		{"ij,jk->ik", []opstest.Array{a, b}, []int{2, 3}, []float64{9, 12, 15, 19, 26, 33}},
		{"ij,jk", []opstest.Array{a, b}, []int{2, 3}, []float64{9, 12, 15, 19, 26, 33}},
		{"ab , bc -> ca", []opstest.Array{a, b}, []int{3, 2}, []float64{9, 19, 12, 26, 15, 33}},
		{"ba", []opstest.Array{a}, []int{2, 2}, []float64{1, 3, 2, 4}},
		{"ii", []opstest.Array{a}, nil, []float64{5}},
		{"ii->i", []opstest.Array{a}, []int{2}, []float64{1, 4}},
		{"ij->j", []opstest.Array{a}, []int{2}, []float64{4, 6}},
		{"...j->...", []opstest.Array{b}, []int{2}, []float64{6, 15}},
		{"i,j->ji", []opstest.Array{opstest.Floats([]int{2}, 1, 2), opstest.Floats([]int{2}, 3, 4)}, []int{2, 2}, []float64{3, 6, 4, 8}},
		{"ij,ik->jk", []opstest.Array{opstest.Floats([]int{1, 2}, 1, 2), a}, []int{2, 2}, []float64{4, 6, 8, 12}},
	}
	for _, test := range tests {
		got := opstest.Eval(t, einsum(test.equation), test.in...)[0]
		opstest.Near(t, test.equation, got, opstest.Floats(test.shape, test.want...), 0, 0)
	}
}

// TestProductsOfSingles checks products without sums, and determinants of single elements.
func TestProductsOfSingles(t *testing.T) {
	got := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Matmul(in[0], in[1]), ops.Det(ops.Reshape(in[1], 3, 1, 1))}
	}, opstest.Floats([]int{2, 1, 2, 1}, 1, 2, 3, 4), opstest.Floats([]int{3, 1, 1}, 5, -6, 7))
	require.Equal(t, []int{2, 3, 2, 1}, got[0].Shape)
	require.Equal(t, []float64{5, 10, -6, -12, 7, 14, 15, 20, -18, -24, 21, 28}, got[0].F)
	require.Equal(t, []float64{5, -6, 7}, got[1].F)
}

func TestContractErrors(t *testing.T) {
	a, b := opstest.Normal(1, 2, 3), opstest.Normal(2, 4, 2)
	tests := []struct {
		fn   opstest.Func
		want string
	}{
		{binary(ops.Matmul), "shapes [2 3] and [4 2] do not fit: the last axis of the first (3) must equal axis 0 of the second (4)"},
		{binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Matmul(ops.Sum(a), b) }), "rank 1 or more"},
		{binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Tensordot(a, b, []int{0, 1}, []int{0}) }), "axes [0 1] and [0] must pair up"},
		{einsum("ij,jk->ik"), `axis "j" has lengths 3 and 4`},
		{einsum("ij->ik"), "names 1 operands, received 2"},
		{einsum("ij,kl->im"), `the result's axis "m"`},
		{einsum("ij,kl->ii"), `the result's axis "i"`},
		{einsum("ijk,kl->il"), `operand 0 is named "ijk", but its shape is [2 3]`},
		{einsum("i1,kl->il"), `"1" does not name an axis`},
		{einsum("...j,kl->jkl"), `the result needs it too`},
		{einsum("ab...c,kl->kl"), `operand 0 is named`},
	}
	for _, test := range tests {
		require.ErrorContains(t, opstest.EvalError(test.fn, a, b), test.want, test.want)
	}
}
