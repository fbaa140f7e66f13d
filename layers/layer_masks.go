package layers

import "github.com/gokeras/gokeras/keras/ops"

// withMasks returns the inputs with the masks that count for the results: the masks of speaking, or else those from
// before the call, because an inner layer may have removed them. Inputs that still have their masks are the same
// tensors.
func withMasks(inputs, before, speaking []*ops.Tensor) []*ops.Tensor {
	if speaking != nil {
		inputs = inputs[:len(speaking)]
	}
	for i, x := range inputs {
		mask := before[i]
		if speaking != nil {
			mask = speaking[i].Mask()
		}
		if x.Mask() != mask {
			inputs[i] = x.WithMask(mask)
		}
	}
	return inputs
}

// setMasks gives the results of a layer their masks.
func setMasks(l Layer, c *Context, inputs, outputs []*ops.Tensor) {
	if m, ok := l.(MaskComputer); ok {
		var masks []*ops.Tensor
		guard(l, c, "ComputeMask", func() { masks = m.ComputeMask(c, inputs, outputs) })
		if len(masks) > len(outputs) {
			ops.Failf(c.Graph(), "ComputeMask returned %d masks for %d results; expected one for each, or none", len(masks), len(outputs))
		}
		for i, mask := range masks {
			give(outputs, i, mask)
		}
		return
	}
	s, ok := l.(MaskSupporter)
	for i := range outputs {
		if ok && s.SupportsMasking() {
			give(outputs, i, inputs[0].Mask())
		} else {
			give(outputs, i, nil)
		}
	}
}

// give gives a result a mask. If the result already has it, it stays the same tensor. It may be an input, which then,
// as in Keras, loses its mask when a later layer removes the mask from the result.
func give(outputs []*ops.Tensor, i int, mask *ops.Tensor) {
	if outputs[i].Mask() != mask {
		outputs[i] = outputs[i].WithMask(mask)
	}
}
