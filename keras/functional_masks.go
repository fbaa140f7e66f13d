package keras

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// recordedMasks are the masks that Keras's Functional models record where a layer is called, for layers whose call
// takes a mask. They are made of the masks of the symbolic tensors, off which attention takes none: while the model
// runs, MultiHeadAttention takes the mask off what it is given, but the mean or the recurrent layer after it, or after
// the sum of a residual connection, was promised the mask before.
type recordedMasks map[*layers.KerasTensor]*ops.Tensor

// startMasks returns nil if no layer takes masks off.
func (f *functional) startMasks(inputs []*ops.Tensor) recordedMasks {
	takes := false
	for _, l := range f.layers {
		layers.Walk(l, func(l layers.Layer) {
			_, attention := l.(*layers.MultiHeadAttention)
			takes = takes || attention
		})
	}
	if !takes {
		return nil
	}
	r := recordedMasks{}
	for i, t := range f.fed {
		r[t] = inputs[i].Mask()
	}
	return r
}

// invoke makes a call with the masks that it was promised, and records those of its results.
func (r recordedMasks) invoke(c *layers.Context, n *layers.Node, value func(*layers.KerasTensor) *ops.Tensor, call func(*layers.Context, func(*layers.KerasTensor) *ops.Tensor) []*ops.Tensor) []*ops.Tensor {
	if r == nil {
		return call(c, value)
	}
	promised := func(t *layers.KerasTensor) *ops.Tensor { return r.promised(t, value(t)) }
	var inputs []*ops.Tensor
	lost := false
	for _, t := range n.Inputs {
		if x := promised(t); x != nil { // what runs on the host has no value here
			lost = lost || x != value(t)
			inputs = append(inputs, x.WithMask(x.Mask()))
		}
	}
	with := value
	if lost && takesMask(n) {
		with, lost = promised, false
	}
	results := call(c, with)
	r.note(c, n, inputs, results, lost)
	return results
}

// promised returns x, the value of t, for a call that was promised masks.
func (r recordedMasks) promised(t *layers.KerasTensor, x *ops.Tensor) *ops.Tensor {
	if m := r[t]; m != nil && x != nil && x.Mask() == nil {
		return x.WithMask(m)
	}
	return x
}

// note records the masks of the results of a call; lost says that inputs had lost theirs and that the call was not
// promised them.
func (r recordedMasks) note(c *layers.Context, n *layers.Node, inputs, results []*ops.Tensor, lost bool) {
	masks := make([]*ops.Tensor, len(results))
	for i, y := range results {
		masks[i] = y.Mask()
	}
	if lost {
		switch l := n.Layer.(type) {
		case layers.Container:
		case layers.MaskComputer:
			copy(masks, l.ComputeMask(c, inputs, results))
		case layers.MaskSupporter:
			for i := range masks {
				if masks[i] = nil; l.SupportsMasking() {
					masks[i] = inputs[0].Mask()
				}
			}
		}
	}
	for i, t := range n.Outputs {
		if _, given := r[t]; !given {
			r[t] = masks[i]
		}
	}
}

// takesMask reports whether a call is promised the masks of its inputs: whether it takes them as one argument and is
// given none.
func takesMask(n *layers.Node) bool {
	params := layers.CallParameters(n.Layer)
	at := slices.Index(params, "mask")
	if at < 0 {
		return false
	}
	switch n.Layer.(type) {
	case *layers.Attention, *layers.AdditiveAttention, layers.Container: // of lists
	default:
		if len(n.Inputs) != 1 {
			return false
		}
	}
	a, ok := n.Arguments()
	if !ok {
		return true
	}
	for name, v := range a.Keywords {
		if v != nil && (name == "mask" || strings.HasSuffix(name, "_mask")) {
			return false
		}
	}
	return len(a.Positional) <= at || a.Positional[at] == nil
}
