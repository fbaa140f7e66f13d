package ops_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestEinsumInAnyOrder multiplies three to five operands with random axes, for some of which multiplying from left to
// right would take many more products, and compares with loops over all axes.
func TestEinsumInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 5))
	for try := range 150 {
		lengths := map[rune]int{}
		for _, name := range "abcde" {
			lengths[name] = 1 + r.IntN(5)
		}
		pick := func(n int) string {
			var s strings.Builder
			for _, k := range r.Perm(5)[:n] {
				s.WriteByte("abcde"[k])
			}
			return s.String()
		}
		var operands []string
		var in []opstest.Array
		for i := range 3 + r.IntN(3) {
			operands = append(operands, pick(1+r.IntN(3)))
			var shape []int
			for _, name := range operands[i] {
				shape = append(shape, lengths[name])
			}
			in = append(in, opstest.Normal(10*try+i, shape...))
		}
		result := ""
		for _, name := range pick(r.IntN(4)) {
			if strings.ContainsRune(strings.Join(operands, ""), name) {
				result += string(name)
			}
		}
		equation := strings.Join(operands, ",") + "->" + result
		got := opstest.Eval(t, einsum(equation), in...)[0]
		opstest.Near(t, equation, got, sumOfProducts(operands, result, lengths, in), 1e-9, 1e-9)
	}
}

// sumOfProducts computes an einsum by loops over all axes.
func sumOfProducts(operands []string, result string, lengths map[rune]int, in []opstest.Array) opstest.Array {
	at := map[rune]int{}
	offset := func(names string) (k int) {
		for _, name := range names {
			k = k*lengths[name] + at[name]
		}
		return k
	}
	size := 1
	var shape []int
	for _, name := range result {
		shape = append(shape, lengths[name])
		size *= lengths[name]
	}
	sums := make([]float64, size)
	all := strings.Join(operands, "")
	var loop func(names string)
	loop = func(names string) {
		if names == "" {
			product := 1.0
			for i, o := range operands {
				product *= in[i].F[offset(o)]
			}
			sums[offset(result)] += product
			return
		}
		name := rune(names[0])
		if !strings.ContainsRune(all, name) {
			loop(names[1:])
			return
		}
		for i := range lengths[name] {
			at[name] = i
			loop(names[1:])
		}
	}
	loop("abcde")
	return opstest.Floats(shape, sums...)
}

// TestEinsumOrder counts the products of an attention with a matrix between queries and keys: from left to right, they
// would first be computed for each pair of positions.
func TestEinsumOrder(t *testing.T) {
	shapes := map[string][]int{"queries": {7, 10, 4}, "keys": {7, 16, 32}, "matrix": {4, 32}}
	var types []ir.Type
	for _, name := range []string{"queries", "keys", "matrix"} {
		types = append(types, ir.Type{DType: ir.Float32, Shape: shapes[name]})
	}
	p, err := opstest.Trace(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Einsum("bse,btf,ef->bst", in...)}
	}, types...)
	require.NoError(t, err)
	for i := range p.Nodes {
		require.LessOrEqual(t, p.Type(p.Nodes[i].Outputs[0]).Shape.Size(), 7*10*32, fmt.Sprint(p.Nodes[i].Op))
	}
}

// TestEinsumOrderOfBatches: an example has the same bits in a batch of any size.
func TestEinsumOrderOfBatches(t *testing.T) {
	const equation = "bi,ij,jk->bk"
	most := opstest.Normal(1, 300, 24)
	y, z := opstest.Normal(2, 24, 24), opstest.Normal(3, 24, 4)
	want := opstest.Eval(t, einsum(equation), most, y, z)[0]
	for _, batch := range []int{2, 3, 8, 100} {
		few := opstest.Array{Shape: []int{batch, 24}, DType: most.DType, F: most.F[:batch*24]}
		got := opstest.Eval(t, einsum(equation), few, y, z)[0]
		require.Equal(t, want.F[:batch*4], got.F, "%d examples", batch)
	}
}
