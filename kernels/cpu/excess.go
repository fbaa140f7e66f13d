package cpu

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// Where the processor multiplies no 16-bit floats, or a program has too few products to gain by that, or none, programs
// of mixed precision compute in float32 as long as that takes little memory (pass.ExcessPrecision): to round each
// result and to widen it again is work that float32 does not have. Large programs, whose memory is what 16 bits are
// for, stay in 16 bits.

const (
	mostExcess = 64 << 20 // bytes that the results of a program, of a prediction those that live at a time, may take up more than in 16 bits
	keptRows   = 8        // of products in pairs that take as long as reading their weights does
	widenedRow = 1        // of products whose weights are widened: to widen them takes up to 1.8 times as long from two rows on

	// mostInCache is how large, in float32, weights are at most that stay in the caches whatever else a program reads.
	mostInCache = 64 << 10
)

// withExcess is false in tests of the kernels for 16 bits; leastGain is infinite where they force the choice of pairs.
var (
	withExcess = true
	leastGain  = 0.0
)

// excessPrecision returns the pass for a program, of which numbers of some types are computed in float32.
func excessPrecision(p *ir.Program, wide func(ir.DType) bool) pass.Pass {
	o := pass.ExcessOptions{Type: wide, Most: mostExcess}
	if onlyPredicts(p) {
		o.Keep, o.AtATime = readsMemory(p), !computesGradients(p) // which keep results until they are read again
	}
	return pass.ExcessPrecision(o)
}

// computesGradients reports whether the program has an operation that is a gradient, as those of workers have that
// leave the updates to others.
func computesGradients(p *ir.Program) bool {
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
		return strings.HasSuffix(n.Op.String(), "_grad") || slices.ContainsFunc(ir.SubPrograms(n.Attrs), computesGradients)
	})
}

// multiplies reports whether the program has products of certain types.
func multiplies(p *ir.Program, of func(ir.DType) bool) bool {
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
		product := n.Op == ir.RnnScan || n.Op.Multiplies()
		return product && of(p.Type(n.Inputs[0]).DType) ||
			slices.ContainsFunc(ir.SubPrograms(n.Attrs), func(body *ir.Program) bool { return multiplies(body, of) })
	})
}

// mixes reports whether all inputs of a program are wider than 16 bits, as those of a policy of mixed precision are. A
// function of 16-bit floats without products is computed as it is written, operation by operation, as Keras computes
// it.
func mixes(p *ir.Program) bool {
	return !slices.ContainsFunc(p.Inputs, func(in ir.Input) bool { return p.Type(in.Value).DType.IsHalf() })
}

// widens returns the function that reports whether a program had better compute numbers of a type in float32.
func widens(p *ir.Program) func(d ir.DType) bool {
	pairs := micro.Pairs() && gainInPairs(p) > leastGain
	return func(d ir.DType) bool { return d == ir.Float16 || d == ir.BFloat16 && !pairs }
}

// readsMemory returns the function that reports whether a node multiplies a few rows, or a single one where pairs are
// not multiplied, by weights that predictions keep in 16 bits because the caches do not hold them: they are read in
// half the time.
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
	few := func(p *ir.Program, n *ir.Node) bool {
		a, ok := n.Attrs.(ir.DotAttrs)
		if !ok || len(a.LhsBatch) > 0 {
			return false
		}
		w := p.Type(n.Inputs[1]).Shape
		sums := 1
		for _, axis := range a.RhsContract {
			sums *= w[axis]
		}
		rows := widenedRow
		if micro.Pairs() && p.Type(n.Inputs[1]).DType == ir.BFloat16 {
			rows = keptRows
		}
		return p.Type(n.Outputs[0]).Shape.Size()*sums <= rows*w.Size() && converted(n.Inputs[1])
	}
	least := widePanels
	if micro.Pairs() && 4*sizeOfWeights(p, few) > widePanels { // the caches do not hold all of them, and pairs need no widening
		least = mostInCache
	}
	return func(p *ir.Program, n *ir.Node) bool { return few(p, n) && 4*p.Type(n.Inputs[1]).Shape.Size() > least }
}

// sizeOfWeights returns how many elements the weights of the nodes have that the function picks.
func sizeOfWeights(p *ir.Program, pick func(p *ir.Program, n *ir.Node) bool) int {
	size := 0
	for i := range p.Nodes {
		if n := &p.Nodes[i]; pick(p, n) {
			size += p.Type(n.Inputs[1]).Shape.Size()
		}
	}
	return size
}
