package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// Some programs of mixed precision gain nothing, or too little, by multiplying 16-bit floats, because they have few
// products or none, or because the processor cannot do it. As long as that takes little memory, they compute in float32
// (pass.ExcessPrecision), which saves rounding each result and widening it again. Large programs, which use 16 bits to
// save memory, stay in 16 bits.

const (
	// Bytes by which results that are alive at the same time may exceed those in 16 bits. A training step keeps many of
	// them for its gradients, and half of their memory is what people use 16 bits for.
	mostExcess         = 64 << 20
	mostTrainingExcess = 24 << 20

	keptRows   = 8 // rows up to which a product in pairs takes as long as reading its weights
	widenedRow = 1 // the same for products that widen their weights: from two rows on, widening takes up to 1.8 times as long

	// mostInCache is the largest size in float32 of weights that stay in the caches whatever else a program reads.
	mostInCache = 64 << 10
)

// withExcess is false in tests of the 16-bit kernels. leastGain is infinite where tests force the choice of pairs.
var (
	withExcess = true
	leastGain  = 0.0
)

// excessPrecision returns the pass that computes numbers of the types for which wide is true in float32.
func excessPrecision(p *ir.Program, wide func(ir.DType) bool) pass.Pass {
	o := pass.ExcessOptions{Type: wide, Most: mostExcess, Inputs: !onlyHalves(p)}
	if isInference(p) {
		o.Keep = readsMemory(p)
		return pass.ExcessPrecision(o)
	}
	o.Most = mostTrainingExcess
	if micro.Pairs() && isa.Active().Has(isa.Vectors512) && wide(ir.BFloat16) { // not measured elsewhere
		o.Keep = activePairCosts().gainsAlone(p)
	}
	return pass.ExcessPrecision(o)
}

// multiplies reports whether the program has products of the types for which of is true.
func multiplies(p *ir.Program, of func(ir.DType) bool) bool {
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
		product := n.Op == ir.RnnScan || n.Op.Multiplies()
		return product && of(p.Type(n.Inputs[0]).DType) ||
			slices.ContainsFunc(ir.SubPrograms(n.Attrs), func(body *ir.Program) bool { return multiplies(body, of) })
	})
}

// mixes reports whether a program converts to 16 bits numbers of float32 that it reads, or what it computes from them,
// or reads no 16 bits, as models do under a policy of 16 bits. A function of 16-bit floats without products is computed
// as written, operation by operation, as Keras does.
func mixes(p *ir.Program) bool {
	if !slices.ContainsFunc(p.Inputs, func(in ir.Input) bool { return p.Type(in.Value).DType.IsHalf() }) {
		return true
	}
	wide := make([]bool, p.NumValues())
	for _, in := range p.Inputs {
		wide[in.Value] = p.Type(in.Value).DType == ir.Float32
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return wide[v] }) {
			continue
		}
		for _, v := range n.Outputs {
			if n.Op == ir.Convert && p.Type(v).DType.IsHalf() {
				return true
			}
			wide[v] = p.Type(v).DType == ir.Float32
		}
	}
	return false
}

// onlyHalves reports whether all that a program reads has 16 bits, as what a function of tensors reads. Models read
// more: what they predict for, counters of steps and of random numbers.
func onlyHalves(p *ir.Program) bool {
	return !slices.ContainsFunc(p.Inputs, func(in ir.Input) bool { return !p.Type(in.Value).DType.IsHalf() })
}

// widens returns a function that reports whether the program should compute numbers of a type in float32.
func widens(p *ir.Program) func(d ir.DType) bool {
	pairs := micro.Pairs() && gainInPairs(p) > leastGain
	return func(d ir.DType) bool { return d == ir.Float16 || d == ir.BFloat16 && !pairs }
}

// readsMemory returns a function that reports whether a node is a product that mainly reads its weights from memory. It
// has few rows, or a single one if pairs cannot be multiplied, and its weights do not fit into the caches. Predictions
// keep such weights in 16 bits, because they are then read in half the time.
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
		return seen || p.Type(w).DType.IsHalf()
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

// sizeOfWeights returns the number of elements of the weights of all nodes that pick selects.
func sizeOfWeights(p *ir.Program, pick func(p *ir.Program, n *ir.Node) bool) int {
	size := 0
	for i := range p.Nodes {
		if n := &p.Nodes[i]; pick(p, n) {
			size += p.Type(n.Inputs[1]).Shape.Size()
		}
	}
	return size
}
