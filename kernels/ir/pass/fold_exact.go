package pass

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// FoldExact computes the single elementwise node of a program of scalars, if every device computes the same bits:
// arithmetic for which IEEE 754 prescribes the rounding, comparisons, and conversions that lose nothing. It does not
// fold numbers that are not finite, nor denormal numbers, which devices may flush to zero.
func FoldExact(p *ir.Program, operands []ir.Literal) (result []byte, ok bool) {
	n := &p.Nodes[0]
	d := p.Type(n.Outputs[0]).DType
	x := make([]float64, len(operands))
	for i, l := range operands {
		if x[i] = l.At(0); !isPlain(l.Type.DType, x[i]) {
			return nil, false
		}
	}
	y, ok := foldFloat64(n, x)
	if !ok || !isPlain(d, y) {
		return nil, false
	}
	result = ir.AppendElement(nil, d, y)
	rounded := ir.Element(result, d, 0)
	if (!d.IsFloat() || n.Op == ir.Convert) && rounded != y {
		return nil, false
	}
	return result, isPlain(d, rounded)
}

// foldFloat64 computes in float64. Rounding the result to a type of at most 24 bits is the same as arithmetic in that
// type.
func foldFloat64(n *ir.Node, x []float64) (y float64, ok bool) {
	switch n.Op {
	case ir.Neg:
		return -x[0], true
	case ir.Add:
		return x[0] + x[1], true
	case ir.Sub:
		return x[0] - x[1], true
	case ir.Mul:
		y = x[0] * x[1]
		return y, y != 0 || x[0] == 0 || x[1] == 0
	case ir.Convert:
		return x[0], true
	case ir.Compare:
		return compare(n.Attrs.(ir.CompareAttrs).Direction, x[0], x[1])
	}
	return 0, false
}

func compare(d ir.Direction, a, b float64) (y float64, ok bool) {
	holds := map[ir.Direction]bool{ir.Lt: a < b, ir.Le: a <= b, ir.Eq: a == b, ir.Ne: a != b, ir.Ge: a >= b, ir.Gt: a > b}
	yes, ok := holds[d]
	if yes {
		return 1, ok
	}
	return 0, ok
}

// isPlain reports whether float64 and all devices represent x alike: as an integer that float64 represents exactly, 0,
// or a normal finite number of the type d.
func isPlain(d ir.DType, x float64) bool {
	if !d.IsFloat() {
		return math.Abs(x) <= 1<<53
	}
	return x == 0 || math.Abs(x) >= d.LeastNormal() && !math.IsInf(x, 0)
}
