package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// mixing is implemented by the layers that mix the examples of a batch with each other, so that what belongs to the images changes
// with them.
type mixing interface {
	augmentation
	// mixLabels changes labels (batch, classes) of a float type.
	mixLabels(labels *ops.Tensor, d drawn) *ops.Tensor
	// mixMasks changes segmentation masks (batch, height, width, classes), with axes in the order of the images.
	mixMasks(masks *ops.Tensor, d drawn) *ops.Tensor
	// masksType is the type of results for masks of the given one.
	masksType(given ir.DType) ir.DType
}

// mixExamples applies such a layer in training; otherwise everything stays as it is, in the same types as in training.
func mixExamples(c *Context, l mixing, in []*ops.Tensor) []*ops.Tensor {
	x := ops.Cast(in[0], c.ComputeDType())
	l.check(x)
	out := append([]*ops.Tensor{x}, in[1:]...)
	masks := mixedInputs(x, out)
	for i := 1; i < len(out); i++ {
		to := mixedType(out[i].DType())
		if i == masks {
			to = l.masksType(out[i].DType())
		}
		out[i] = ops.Cast(out[i], to)
	}
	if !c.Training || x.Rank() == 3 { // an image alone has none to be mixed with
		return out
	}
	d := l.draw(c, x)
	for i := range out {
		switch i {
		case 0:
			out[i] = ops.Cast(l.transform(x, d), x.DType())
		case masks:
			out[i] = l.mixMasks(out[i], d)
		default:
			out[i] = l.mixLabels(out[i], d)
		}
	}
	return out
}

// mixedInputs checks what comes with images x and returns which of the inputs are masks, 0 for none.
func mixedInputs(x *ops.Tensor, in []*ops.Tensor) (masks int) {
	names := mixedNames(x.Rank(), len(in), func(i int) int { return in[i].Rank() })
	for i := 1; i < len(in); i++ {
		if names == nil || x.Rank() == 4 && !dim.MayEqual(in[i].Dim(0), x.Dim(0)) {
			ops.Failf(x.Graph(), "images of shape %v may come with labels (batch, classes) and after them segmentation masks with %d axes; received shape %v as input %d; give labels that are class numbers as one-hot vectors",
				x.Shape(), x.Rank(), in[i].Shape(), i)
		}
		if names[i] == "segmentation_masks" {
			masks = i
		}
	}
	return masks
}

// mixedNames returns Keras's names of n inputs with the given numbers of axes, of which the first are images; nil where they do not fit.
func mixedNames(rank, n int, ranks func(i int) int) []string {
	names := []string{"images"}
	for i := 1; i < n; i++ {
		switch last := names[len(names)-1]; {
		case ranks(i) == rank-2 && last == "images":
			names = append(names, "labels")
		case ranks(i) == rank && last != "segmentation_masks":
			names = append(names, "segmentation_masks")
		default:
			return nil
		}
	}
	return names
}

// mixedArguments puts the inputs of a call into a dict, as Keras takes them; ok is false where they do not fit.
func mixedArguments(inputs []*KerasTensor) (a Arguments, ok bool) {
	for _, t := range inputs {
		if t == nil || t.err != nil {
			return a, false
		}
	}
	if len(inputs) < 2 {
		return a, false
	}
	byName := map[string]any{}
	for i, name := range mixedNames(len(inputs[0].shape), len(inputs), func(i int) int { return len(inputs[i].shape) }) {
		byName[name] = inputs[i]
	}
	return Arguments{Positional: []any{byName}}, len(byName) == len(inputs)
}

// mixedType is the type of a mean of numbers of the given type.
func mixedType(d ir.DType) ir.DType {
	if d.IsFloat() {
		return d
	}
	return ir.Float32
}

// drawOrder draws an order of the images of a batch: which one each is mixed with.
func drawOrder(c *Context, x *ops.Tensor, seed *int) *ops.Tensor {
	return ops.Argsort(ops.RandomBits(c, seedOf(seed), imageCount(x)), 0)
}

// blend is w·x + (1-w)·x[order], with one weight for each example of x.
func blend(x, weight, order *ops.Tensor) *ops.Tensor {
	shape := make([]int, x.Rank())
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = x.Dim(0)
	w := ops.Reshape(ops.Cast(weight, x.DType()), shape...)
	return ops.Add(ops.Multiply(w, x), ops.Multiply(ops.Subtract(ops.Scalar(w, 1), w), ops.Take(x, order, 0)))
}
