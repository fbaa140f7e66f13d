package pass_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/stretchr/testify/require"
)

// TestRowwiseProducts: what becomes elementwise, and what stays a product of matrices.
func TestRowwiseProducts(t *testing.T) {
	rows := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{1}, RhsContract: []int{1}}
	single := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	examples := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}}
	for name, c := range map[string]struct {
		left, right ir.Shape
		attrs       ir.DotAttrs
		dtype       ir.DType
		rowwise     bool
	}{
		"rows":                    {ir.Shape{4, 6}, ir.Shape{4, 6}, rows, ir.Float32, true},
		"rows of integers":        {ir.Shape{4, 6}, ir.Shape{4, 6}, rows, ir.Int8, true},
		"rows of sixteen bits":    {ir.Shape{4, 6}, ir.Shape{4, 6}, rows, ir.Float16, false},
		"number, row":             {ir.Shape{4}, ir.Shape{4, 6}, examples, ir.Float64, true},
		"row, number":             {ir.Shape{4, 2, 6}, ir.Shape{4}, examples, ir.Float32, true},
		"row, number behind":      {ir.Shape{6, 4}, ir.Shape{4}, ir.DotAttrs{LhsBatch: []int{1}, RhsBatch: []int{0}}, ir.BFloat16, true},
		"turned":                  {ir.Shape{4, 6, 5}, ir.Shape{4, 5, 6}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{1, 2}, RhsContract: []int{2, 1}}, ir.Float32, true},
		"no examples":             {ir.Shape{6}, ir.Shape{6}, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, ir.Float32, true},
		"one number":              {ir.Shape{}, ir.Shape{4, 6}, ir.DotAttrs{}, ir.Float32, true},
		"outer":                   {ir.Shape{6}, ir.Shape{9}, ir.DotAttrs{}, ir.Float32, false},
		"outer, few columns":      {ir.Shape{6}, ir.Shape{7}, ir.DotAttrs{}, ir.Float32, true},
		"outer, half precision":   {ir.Shape{6}, ir.Shape{31}, ir.DotAttrs{}, ir.Float16, true},
		"outer of integers":       {ir.Shape{6}, ir.Shape{70}, ir.DotAttrs{}, ir.Int32, true},
		"outer for each example":  {ir.Shape{4, 6}, ir.Shape{4, 3}, examples, ir.Float32, false},
		"single sum":              {ir.Shape{1, 6}, ir.Shape{6}, single, ir.Float32, false},
		"single sum of integers":  {ir.Shape{1, 6}, ir.Shape{6}, single, ir.Int32, true},
		"one feature, one unit":   {ir.Shape{9, 1}, ir.Shape{1, 1}, single, ir.Float32, true},
		"matrix":                  {ir.Shape{4, 6}, ir.Shape{4, 6, 3}, rows, ir.Float32, false},
		"matrix of integers":      {ir.Shape{4, 6}, ir.Shape{4, 6, 3}, rows, ir.Int32, true},
		"two columns of integers": {ir.Shape{4, 6}, ir.Shape{6, 2}, single, ir.Int32, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.rowwise, simplifiedProduct(t, c.dtype, c.left, c.right, c.attrs) == 0)
		})
	}
}

// TestPlainRowsOfEveryBackend: without the option, matrices with a single row or column stay products, for kernels that
// look for them, and so do other types and orders of axes.
func TestPlainRowsOfEveryBackend(t *testing.T) {
	rows := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{1}, RhsContract: []int{1}}
	single := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	for name, c := range map[string]struct {
		left, right ir.Shape
		attrs       ir.DotAttrs
		dtype       ir.DType
		rowwise     bool
	}{
		"rows":                 {ir.Shape{4, 6}, ir.Shape{4, 6}, rows, ir.Float32, true},
		"row, number":          {ir.Shape{4, 2, 6}, ir.Shape{4}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}}, ir.Float64, true},
		"row, number behind":   {ir.Shape{6, 4}, ir.Shape{4}, ir.DotAttrs{LhsBatch: []int{1}, RhsBatch: []int{0}}, ir.Float32, false},
		"rows of integers":     {ir.Shape{4, 6}, ir.Shape{4, 6}, rows, ir.Int32, false},
		"one unit":             {ir.Shape{9, 1}, ir.Shape{1, 1}, single, ir.Float32, false},
		"outer, few columns":   {ir.Shape{6}, ir.Shape{7}, ir.DotAttrs{}, ir.Float32, false},
		"columns in any order": {ir.Shape{4, 6}, ir.Shape{6, 4}, ir.DotAttrs{LhsContract: []int{0, 1}, RhsContract: []int{1, 0}}, ir.Float32, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.rowwise, productsLeft(t, c.dtype, c.left, c.right, c.attrs, pass.SimplifyOptions{}) == 0)
		})
	}
}

// TestRowOfBytes: a single row or column of bytes that are summed in 32 bits stays a product, as of a quantized layer
// with one example, which elementwise operations would make seventeen times as slow.
func TestRowOfBytes(t *testing.T) {
	for _, shapes := range [][2]ir.Shape{{{1, 6}, {6, 5}}, {{7, 6}, {6, 1}}} {
		p := ir.New("product")
		b := b{t, p}
		wide := func(name string, shape ir.Shape) ir.Value {
			return b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, b.input(name, ir.Int8, shape...))
		}
		p.AddOutput("y", b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, wide("x", shapes[0]), wide("w", shapes[1])))
		q, err := pass.Run(p, nil, pass.Simplify(pass.SimplifyOptions{FewProducts: true, Int8Sums: true}))
		require.NoError(t, err)
		products := 0
		for i := range q.Nodes {
			if a, ok := q.Nodes[i].Attrs.(ir.DotAttrs); ok && a.Sums == ir.Int32 {
				products++
			}
		}
		require.Equal(t, 1, products, q.String())
	}
}

// TestRandomProducts draws products of few numbers whose axes have any order, of one kind in three without a matrix.
func TestRandomProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	dtypes := []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16, ir.Int32, ir.Int8, ir.Uint16}
	elementwise := 0
	for range 1500 {
		var attrs ir.DotAttrs
		length, sums := func() int { return 1 + r.IntN(4) }, r.IntN(2)
		batch, contract, left, right := r.IntN(3), r.IntN(3), r.IntN(3), r.IntN(3)
		l, x := r.Perm(batch+contract+left), make(ir.Shape, batch+contract+left)
		k, y := r.Perm(batch+contract+right), make(ir.Shape, batch+contract+right)
		for i := range batch + contract {
			x[l[i]] = length()
			if i >= batch && sums == 0 {
				x[l[i]] = 1
			}
			y[k[i]] = x[l[i]]
		}
		for _, axis := range l[batch+contract:] {
			x[axis] = length()
		}
		for _, axis := range k[batch+contract:] {
			y[axis] = length()
		}
		attrs.LhsBatch, attrs.LhsContract = l[:batch], l[batch:batch+contract]
		attrs.RhsBatch, attrs.RhsContract = k[:batch], k[batch:batch+contract]
		if simplifiedProduct(t, dtypes[r.IntN(len(dtypes))], x, y, attrs) == 0 {
			elementwise++
		}
	}
	require.Greater(t, elementwise, 500)
}

// TestLargeFactorIsNotTurned: the factor that has all axes is read in its order, and only the product is turned.
func TestLargeFactorIsNotTurned(t *testing.T) {
	p := ir.New("product")
	b := b{t, p}
	attrs := ir.DotAttrs{LhsBatch: []int{2, 0}, RhsBatch: []int{1, 0}}
	p.AddOutput("y", b.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 2, 0}}, b.add(ir.Dot, attrs, b.input("x", ir.Float32, 4, 5, 6), b.input("w", ir.Float32, 4, 6))))
	q, err := pass.Run(p, nil, pass.Simplify(pass.SimplifyOptions{FewProducts: true}), pass.Simplify(pass.SimplifyOptions{FewProducts: true})) // the second one drops what the first one joined
	require.NoError(t, err)
	require.NotContains(t, q.String(), "transpose(", "the axes of x and of the result have one order")
}

// simplifiedProduct is productsLeft for a backend that has fast elementwise kernels.
func simplifiedProduct(t *testing.T, dtype ir.DType, left, right ir.Shape, attrs ir.DotAttrs) int {
	return productsLeft(t, dtype, left, right, attrs, pass.SimplifyOptions{FewProducts: true})
}

// productsLeft simplifies a product, compares its results with what it was, and returns how many products are left.
func productsLeft(t *testing.T, dtype ir.DType, left, right ir.Shape, attrs ir.DotAttrs, o pass.SimplifyOptions) (dots int) {
	p := ir.New("product")
	b := b{t, p}
	p.AddOutput("y", b.add(ir.Dot, attrs, b.input("x", dtype, left...), b.input("w", dtype, right...)))
	q, err := pass.Run(p, nil, pass.Simplify(o))
	require.NoError(t, err)
	var in []reference.Value
	for i, shape := range []ir.Shape{left, right} {
		values := make([]float64, shape.Size())
		for k := range values {
			values[k] = float64(1 + k%7 + i)
		}
		v, err := reference.New(dtype, shape, values...)
		require.NoError(t, err)
		in = append(in, v)
	}
	want, err := reference.Run(p, in)
	require.NoError(t, err)
	got, err := reference.Run(q, in)
	require.NoError(t, err)
	require.Equal(t, want, got, q.String())
	for i := range q.Nodes {
		if q.Nodes[i].Op == ir.Dot {
			dots++
		}
	}
	return dots
}
