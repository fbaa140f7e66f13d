package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// What 16 bits cost where the processor multiplies pairs of bfloat16, in units of what a floating-point operation of a
// product of matrices saves there. Measured on Zen 4 with networks of all kinds and with single layers
// (internal/benchpeers/worker --halves --drawn): 880 steps, for which pairs throughout take 1.11 of float32's time in
// the mean, at worst 4, no pairs 1.00, and the better of both for each 0.92. What these numbers choose takes 0.93.
const (
	storedCost      = 20  // of a result that is stored, and rounded before that
	operandCost     = 5   // of an element of an operand of a product, which is brought into panels
	convertedCost   = 5   // of an element that is rounded from float32
	productCost     = 50  // of a result of a product, besides
	convolutionGain = 0.5 // what an operation of a convolution saves
	convolvedCost   = 40  // of an element of the input or the result of a convolution, besides
	attendedCost    = 80  // of a result of attention; to count what its operations save as well made a small network slower
	widenedCost     = 10  // of a weight that a few rows are multiplied by in each step of a loop
)

// gainInPairs returns what a program gains by products of pairs of bfloat16 over the same in float32, in those units.
// Below 0 it loses.
func gainInPairs(p *ir.Program) float64 { return gainInside(p, false, onlyPredicts(p)) }

func gainInside(p *ir.Program, loop, predicts bool) float64 {
	gain, chained := 0.0, inChains(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		times := 1.0
		if a, ok := n.Attrs.(ir.ScanAttrs); ok {
			times = float64(a.Length)
		}
		for _, body := range ir.SubPrograms(n.Attrs) {
			gain += times * gainInside(body, loop || n.Op != ir.Cond, false)
		}
		if n.Op == ir.Convert {
			gain -= convertedCost * float64(halfResults(p, n, nil))
		}
		if roundsResults(n.Op) {
			gain += gainOfProduct(p, n, loop, predicts) - storedCost*float64(halfResults(p, n, chained))
		}
	}
	return gain
}

// roundsResults is false of operations that move numbers, which are part of those that read them, and of the loops and
// branches around others.
func roundsResults(op ir.Op) bool {
	switch op {
	case ir.Convert, ir.Broadcast, ir.Reshape, ir.Constant, ir.Iota, ir.Reduce, ir.Scan, ir.While, ir.Cond:
		return false
	}
	return true
}

// inChains marks the values that only an elementwise operation reads, in whose vector registers they stay.
func inChains(p *ir.Program) []bool {
	uses, _ := pass.Uses(p)
	chained := make([]bool, p.NumValues())
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !n.Op.IsElementwise() && n.Op != ir.Convert {
			continue
		}
		for _, v := range n.Inputs {
			chained[v] = chained[v] || uses[v] == 1 && p.Type(v).Shape.Equal(p.Type(n.Outputs[0]).Shape)
		}
	}
	for _, o := range p.Outputs {
		chained[o.Value] = false
	}
	return chained
}

// halfResults returns how many results of a node are bfloat16, without the values that are marked.
func halfResults(p *ir.Program, n *ir.Node, without []bool) int {
	count := 0
	for _, v := range n.Outputs {
		if t := p.Type(v); t.DType == ir.BFloat16 && (without == nil || !without[v]) {
			count += t.Shape.Size()
		}
	}
	return count
}

// gainOfProduct returns what a node gains that multiplies, apart from storing its results. Products of a few rows gain
// nothing: they take as long as reading the weights does, which loops widen again at each step. Nor do convolutions
// that predictions compute by Winograd's products, in float32 either way.
func gainOfProduct(p *ir.Program, n *ir.Node, loop, predicts bool) float64 {
	if !n.Op.Multiplies() || p.Type(n.Inputs[0]).DType != ir.BFloat16 {
		return 0
	}
	flops, results := float64(p.FLOPs(n)), float64(halfResults(p, n, nil))
	switch n.Op {
	case ir.Dot:
		x, w := p.Type(n.Inputs[0]).Shape.Size(), p.Type(n.Inputs[1]).Shape.Size()
		switch few := flops < 2*keptRows*float64(w); {
		case few && loop:
			return -widenedCost * float64(w)
		case few:
			return 0
		}
		return flops - operandCost*float64(x+w) - productCost*results
	case ir.Attention, ir.AttentionGrad:
		return -attendedCost * results
	case ir.Conv, ir.ConvInputGrad:
		if !convolvedInPairs(p, n) || predicts && n.Op == ir.Conv && tilesBeatPairs(p, n) {
			return 0
		}
		return convolutionGain*flops - convolvedCost*(float64(p.Type(n.Inputs[0]).Shape.Size())+results)
	case ir.ConvKernelGrad:
		if a, ok := n.Attrs.(ir.ConvGradAttrs); ok && sumsPairs(p.Type(n.Inputs[0]), p.Type(n.Inputs[1]), a.Conv) {
			return convolutionGain * flops
		}
	}
	return 0
}

// convolvedInPairs reports whether a node is a convolution, or the gradient of the input of one, that the processor can
// compute in pairs of channels.
func convolvedInPairs(p *ir.Program, n *ir.Node) bool {
	a, ok := n.Attrs.(ir.ConvAttrs)
	if g, gradient := n.Attrs.(ir.ConvGradAttrs); gradient {
		a, ok = g.Conv, n.Op == ir.ConvInputGrad
	}
	if !ok || a.Groups > 1 || !micro.Pairs() {
		return false
	}
	x := p.Type(n.Inputs[0])
	return x.DType == ir.BFloat16 && x.Shape[len(x.Shape)-1]%2 == 0
}
