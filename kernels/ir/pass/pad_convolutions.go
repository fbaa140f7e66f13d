package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// PadConvolutions returns the pass that turns zeros around the images of a convolution into its padding, so that they
// are never stored. Weights that are not finite are multiplied by stored zeros, but not by padding.
func PadConvolutions() Pass {
	return New("pad_convolutions", func(p *ir.Program) (*ir.Program, error) {
		def := make([]*ir.Node, p.NumValues())
		for i := range p.Nodes {
			for _, v := range p.Nodes[i].Outputs {
				def[v] = &p.Nodes[i]
			}
		}
		if !slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { _, ok := convPadding(def, &n); return ok }) {
			return p, nil
		}
		r := NewRewriter(p)
		for i := range p.Nodes {
			n := &p.Nodes[i]
			a, ok := convPadding(def, n)
			if !ok {
				if err := r.Keep(n); err != nil {
					return nil, err
				}
				continue
			}
			in := r.Operands(n)
			in[0] = r.Mapped[def[n.Inputs[0]].Inputs[0]]
			out, err := r.To.Add(n.Scope, n.Op, a, in...)
			if err == nil {
				err = r.Define(n, out)
			}
			if err != nil {
				return nil, err
			}
		}
		return r.Finish(), nil
	})
}

// convPadding returns the attributes of a convolution that includes the zeros around its images, if there are any.
func convPadding(def []*ir.Node, n *ir.Node) (ir.ConvAttrs, bool) {
	a, ok := n.Attrs.(ir.ConvAttrs)
	if !ok || n.Op != ir.Conv || def[n.Inputs[0]] == nil || def[n.Inputs[0]].Op != ir.Pad {
		return a, false
	}
	pad := def[n.Inputs[0]]
	around, zero := pad.Attrs.(ir.PadAttrs), def[pad.Inputs[1]]
	last := len(around.Low) - 1
	if !onlyAdds(around) || around.Low[0]+around.High[0]+around.Low[last]+around.High[last] > 0 || zero == nil || zero.Op != ir.Constant ||
		slices.ContainsFunc(zero.Attrs.(ir.ConstantAttrs).Literal.Data, func(b byte) bool { return b != 0 }) {
		return a, false
	}
	low, high := slices.Clone(around.Low[1:last]), slices.Clone(around.High[1:last])
	for i := range low {
		if len(a.PadLow) > 0 {
			low[i] += a.PadLow[i]
		}
		if len(a.PadHigh) > 0 {
			high[i] += a.PadHigh[i]
		}
	}
	a.PadLow, a.PadHigh = low, high
	return a, true
}
