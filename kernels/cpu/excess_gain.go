package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// gainInPairs returns how much time a program saves by multiplying pairs of bfloat16 rather than float32, in units of
// [pairCosts]. Negative numbers are losses.
func gainInPairs(p *ir.Program) float64 { return activePairCosts().gain(p, false, isInference(p)) }

func (c *pairCosts) gain(p *ir.Program, loop, predicts bool) float64 {
	gain, chained := 0.0, inChains(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		times := 1.0
		if a, ok := n.Attrs.(ir.ScanAttrs); ok {
			times = float64(a.Length)
		}
		for _, body := range ir.SubPrograms(n.Attrs) {
			gain += times * c.gain(body, loop || n.Op != ir.Cond, false)
		}
		if n.Op == ir.Convert {
			gain -= c.converted * float64(halfResults(p, n, nil))
		}
		if roundsResults(n.Op) {
			gain += c.ofProduct(p, n, loop, predicts) - c.stored*float64(halfResults(p, n, chained))
		}
	}
	return gain
}

// roundsResults is false for operations that move numbers, which become part of the operations that read them, and for
// loops and branches.
func roundsResults(op ir.Op) bool {
	switch op {
	case ir.Convert, ir.Broadcast, ir.Reshape, ir.Constant, ir.Iota, ir.Reduce, ir.Scan, ir.While, ir.Cond:
		return false
	}
	return true
}

// inChains marks the values that only one elementwise operation reads. They stay in vector registers.
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

// halfResults returns how many elements of a node's results are bfloat16, without the marked values.
func halfResults(p *ir.Program, n *ir.Node, without []bool) int {
	count := 0
	for _, v := range n.Outputs {
		if t := p.Type(v); t.DType == ir.BFloat16 && (without == nil || !without[v]) {
			count += t.Shape.Size()
		}
	}
	return count
}

// ofProduct returns the gain of a node that multiplies, apart from that of storing its results. Convolutions that
// predictions compute by Winograd's algorithm gain nothing, because they use float32 either way.
func (c *pairCosts) ofProduct(p *ir.Program, n *ir.Node, loop, predicts bool) float64 {
	if !n.Op.Multiplies() || p.Type(n.Inputs[0]).DType != ir.BFloat16 {
		return 0
	}
	x := p.Type(n.Inputs[0])
	flops, results := float64(p.FLOPs(n)), float64(halfResults(p, n, nil))
	switch n.Op {
	case ir.Dot:
		return c.ofDot(p, n, loop)
	case ir.Attention, ir.AttentionGrad:
		products := 2
		if n.Op == ir.AttentionGrad {
			products = 5
		}
		return c.attention*flops - c.head*float64(products*x.Shape[0]*x.Shape[2]) - c.attended*results
	case ir.Conv, ir.ConvInputGrad:
		if !convolvedInPairs(p, n) || predicts && n.Op == ir.Conv && prefersWinograd(p, n) {
			return 0
		}
		gain := -c.convolvedInput*float64(x.Shape.Size()) - c.convolved*results
		switch filters := lastOf(p.Type(n.Outputs[0]).Shape); {
		case filters <= c.fewFilters:
			if n.Op == ir.Conv && filters <= c.fewFilters/2 {
				gain -= c.convolution * flops * 16 / float64(max(filters, 1)) // float32 does not fill its vectors of 16 either
			}
		case lastOf(x.Shape) >= c.leastChannels:
			gain += c.convolution * flops
		}
		return gain
	case ir.ConvKernelGrad:
		if a, ok := n.Attrs.(ir.ConvGradAttrs); ok && sumsPairs(x, p.Type(n.Inputs[1]), a.Conv) {
			each := c.paired
			if lastOf(x.Shape) < c.leastChannels {
				each = c.pairedFew
			}
			images := float64(x.Shape[0])
			paired := float64(x.Shape[0] / 2 * 2)
			return c.kernelGradient*flops*(paired+c.loneImage*(images-paired))/images - each*float64(x.Shape.Size()+p.Type(n.Inputs[1]).Shape.Size())
		}
	}
	return 0
}

// lastOf returns the length of the last axis, which is the number of channels of an image.
func lastOf(s ir.Shape) int { return s[len(s)-1] }

// ofDot is ofProduct for matrix products. Those of a few rows gain nothing, because they take as long as reading the
// weights. In loops they even lose, because the weights are widened again at each step.
func (c *pairCosts) ofDot(p *ir.Program, n *ir.Node, loop bool) float64 {
	a, lhs, rhs := n.Attrs.(ir.DotAttrs), p.Type(n.Inputs[0]).Shape, p.Type(n.Inputs[1]).Shape
	entries, sums := 1, 1
	for _, axis := range a.LhsBatch {
		entries *= lhs[axis]
	}
	for _, axis := range a.LhsContract {
		sums *= lhs[axis]
	}
	x, w, results, flops := lhs.Size(), rhs.Size(), float64(halfResults(p, n, nil)), float64(p.FLOPs(n))
	each := max(entries*sums, 1)
	gain, perResult := -c.panel*float64(entries*panelProducts(x/each, w/each, sums)), c.product
	if loop {
		perResult = c.looped
	}
	switch few := flops < 2*keptRows*float64(w); {
	case few && loop:
		return gain - c.widened*float64(w)
	case few:
		return gain
	}
	return gain + flops - c.operand*float64(x+w) - perResult*results
}

// panelProducts returns how often a matrix product multiplies a block of rows by a panel. If a long sum ends with a
// rest that does not fill a matrix register, the rest is multiplied separately.
func panelProducts(rows, cols, sums int) int {
	const block, panel, register = 128, 32, 32
	n := (rows + block - 1) / block * ((cols + panel - 1) / panel)
	if sums > register && sums%register != 0 {
		n *= 2
	}
	return n
}

// convolvedInPairs reports whether a node is a convolution, or the gradient of a convolution's input, that the
// processor can compute in pairs of channels.
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

// gainsAlone returns a function that reports whether a product saves time in pairs though the program around it
// computes in float32. Such is a product with a variable of 16 bits, which need not be widened then; its gradient,
// which has as many results as the variable, and its update stay in float32.
func (c *pairCosts) gainsAlone(p *ir.Program) func(p *ir.Program, n *ir.Node) bool {
	_, def := pass.Uses(p)
	return func(p *ir.Program, n *ir.Node) bool {
		a, ok := n.Attrs.(ir.DotAttrs)
		if !ok || n.Op != ir.Dot || p.Type(n.Inputs[0]).DType != ir.BFloat16 || len(a.LhsBatch) > 0 || c.alone == 0 {
			return false
		}
		v := n.Inputs[1]
		for def[v] >= 0 && p.Nodes[def[v]].Op == ir.Reshape {
			v = p.Nodes[def[v]].Inputs[0]
		}
		x, w, results := p.Type(n.Inputs[0]).Shape.Size(), p.Type(v).Shape.Size(), p.Type(n.Outputs[0]).Shape.Size()
		gain := float64(p.FLOPs(n)) + (c.spared-c.operand)*float64(w) - (c.operand+c.converted)*float64(x) - (c.product+c.stored+c.converted)*float64(results)
		return def[v] < 0 && gain > c.alone
	}
}
