package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// Where the processor multiplies no 16-bit floats, programs of mixed precision compute in float32 as long as that takes
// little memory (pass.ExcessPrecision): to round each result and to widen it again is work that float32 does not have.
// Large programs, whose memory is what 16 bits are for, do so all the same, and so do programs without products, whose
// operations round in registers.

const (
	mostExcess = 64 << 20 // bytes that the results of a program may take up more than in 16 bits
	keptRows   = 8        // of products that take as long as reading their weights does
)

// withExcess is false in tests of the kernels for 16 bits.
var withExcess = true

// excessPrecision returns the pass for a program.
func excessPrecision(p *ir.Program) pass.Pass {
	o := pass.ExcessOptions{Type: lacksArithmetic, Most: mostExcess}
	if onlyPredicts(p) {
		o.Keep = readsMemory(p)
	}
	return pass.ExcessPrecision(o)
}

// multiplies reports whether the program has products of a type that lacks arithmetic.
func multiplies(p *ir.Program) bool {
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
		product := n.Op == ir.RnnScan || n.Op.Multiplies()
		return product && lacksArithmetic(p.Type(n.Inputs[0]).DType) || slices.ContainsFunc(ir.SubPrograms(n.Attrs), multiplies)
	})
}

// lacksArithmetic reports whether numbers of a type are rounded and widened, but not multiplied.
func lacksArithmetic(d ir.DType) bool {
	return d == ir.Float16 || d == ir.BFloat16 && !micro.Pairs()
}

// readsMemory returns the function that reports whether a node multiplies a few rows by weights that predictions keep
// in 16 bits because the caches do not hold them: they are read in half the time.
func readsMemory(p *ir.Program) func(p *ir.Program, n *ir.Node) bool {
	_, def := pass.Uses(p)
	converted := func(w ir.Value) bool {
		seen := false
		for def[w] >= 0 {
			n := &p.Nodes[def[w]]
			if n.Op != ir.Convert && n.Op != ir.Reshape {
				return false
			}
			w, seen = n.Inputs[0], seen || n.Op == ir.Convert
		}
		return seen
	}
	return func(p *ir.Program, n *ir.Node) bool {
		a, ok := n.Attrs.(ir.DotAttrs)
		if !ok || len(a.LhsBatch) > 0 {
			return false
		}
		w := p.Type(n.Inputs[1]).Shape
		sums := 1
		for _, axis := range a.RhsContract {
			sums *= w[axis]
		}
		return 4*w.Size() > widePanels && p.Type(n.Outputs[0]).Shape.Size()*sums <= keptRows*w.Size() && converted(n.Inputs[1])
	}
}
