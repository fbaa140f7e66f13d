package layers

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
)

// Complex numbers in a Functional model are pairs of real ones: a tensor of them has a last axis of length 2 for the
// real and the imaginary part, which Keras's shape lacks. A list of the two parts can be used as well, as for Fourier
// transforms. Polar and ViewAsComplex make such tensors and the operations below take them; all other operations and
// layers refuse them. As results of a model they equal keras.ops.view_as_real of Keras's results.
var ofComplex = map[string]func(re, im *ops.Tensor) *ops.Tensor{
	"Real":       func(re, _ *ops.Tensor) *ops.Tensor { return re },
	"Imag":       func(_, im *ops.Tensor) *ops.Tensor { return im },
	"Angle":      func(re, im *ops.Tensor) *ops.Tensor { return ops.Arctan2(im, re) },
	"Abs":        ops.Hypot,
	"Absolute":   ops.Hypot,
	"Conj":       conjugated,
	"Conjugate":  conjugated,
	"ViewAsReal": ops.ViewAsReal,
}

func conjugated(re, im *ops.Tensor) *ops.Tensor { return ops.ViewAsReal(re, ops.Negative(im)) }

// isComplex reports whether a tensor holds complex numbers.
func isComplex(t *KerasTensor) bool {
	if t == nil || t.node == nil {
		return false
	}
	o, ok := t.node.Layer.(*Operation)
	if !ok || o.kind == nil {
		return false
	}
	switch o.kind.class {
	case "Polar", "ViewAsComplex":
		return true
	case "Conj", "Conjugate":
		return len(t.node.Inputs) == 1 && isComplex(t.node.Inputs[0])
	}
	return false
}

// refusesComplex returns an error for a call with complex numbers of an operation that does not support them.
func refusesComplex(n *Node) error {
	for _, in := range n.Inputs {
		if !isComplex(in) {
			continue
		}
		o, ok := n.Layer.(*Operation)
		if ok && o.kind != nil && ofComplex[o.kind.class] != nil {
			continue
		}
		name := ClassName(n.Layer)
		if ok && o.kind != nil {
			name = o.kind.class
		}
		return fmt.Errorf("layers: %s does not take complex numbers; take their parts before, by the operations real, imag or view_as_real", name)
	}
	return nil
}

// complexResult computes an operation whose operand holds complex numbers.
func complexResult(class string, x *ops.Tensor) []*ops.Tensor {
	re, im := ops.ViewAsComplex(x)
	return []*ops.Tensor{ofComplex[class](re, im)}
}

func init() {
	define("nn", "Polar", "polar(abs_, angle)", oneResult(func(a *operands) *ops.Tensor {
		return ops.ViewAsReal(ops.Polar(floating(a.tensor("abs_")), floating(a.tensor("angle"))))
	}))
	define("math", "ViewAsComplex", "view_as_complex(x)", oneResult(func(a *operands) *ops.Tensor {
		return ops.ViewAsReal(ops.ViewAsComplex(a.tensor("x")))
	}))
	define("math", "ViewAsReal", "view_as_real(x)", oneResult(func(a *operands) *ops.Tensor {
		return ops.ViewAsReal(a.parts("x"))
	}))
}
