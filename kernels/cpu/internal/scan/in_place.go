package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// InPlace returns the stacked operand of a scan whose memory the stacked result j may take over, or -1. One node of the
// body must compute the result in place of the operand, and no other node of the body may use either.
func InPlace(n *ir.Node, j int) int {
	a := n.Attrs.(ir.ScanAttrs)
	if j < a.Carry {
		return -1
	}
	uses, def := pass.Uses(a.Body)
	y := a.Body.Outputs[j].Value
	if def[y] < 0 {
		return -1
	}
	m := &a.Body.Nodes[def[y]]
	from := m.Op.InPlaceOperand(slices.Index(m.Outputs, y))
	if from < 0 || !IsCell(m.Op) {
		return -1
	}
	x := slices.IndexFunc(a.Body.Inputs, func(in ir.Input) bool { return in.Value == m.Inputs[from] })
	if x < a.Carry || x >= a.Carry+a.Xs || uses[m.Inputs[from]] != 1 || !a.Body.Type(y).Equal(a.Body.Type(m.Inputs[from])) {
		return -1
	}
	return x
}
