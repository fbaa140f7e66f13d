package objectives

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// BinaryCrossentropy returns the mean along axis of -[t·ln p + (1-t)·ln(1-p)], with p limited to [ε, 1-ε]. From logits
// it is t·softplus(-p) + (1-t)·softplus(p), which never overflows. Smoothing s replaces t by t·(1-s) + s/2.
//
// If axis is the batch, the mean is that of the global batch on every replica.
func BinaryCrossentropy(b Batch, yTrue, yPred *ops.Tensor, fromLogits bool, smoothing float64, axis int) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	return meanAlong(b, binaryCrossentropy(smooth(t, smoothing, 2), p, fromLogits), axis)
}

func binaryCrossentropy(t, p *ops.Tensor, fromLogits bool) *ops.Tensor {
	one := ops.OnesLike(t)
	if fromLogits {
		return ops.Add(ops.Multiply(t, ops.Softplus(ops.Negative(p))), ops.Multiply(ops.Subtract(one, t), ops.Softplus(p)))
	}
	p = probabilities(p)
	sum := ops.Add(ops.Multiply(t, ops.Log(p)), ops.Multiply(ops.Subtract(one, t), ops.Log(ops.Subtract(one, p))))
	return ops.Negative(sum)
}

// meanAlong is the mean along one axis, over all replicas where that is the batch.
func meanAlong(b Batch, x *ops.Tensor, axis int) *ops.Tensor {
	if axis = x.Axis(axis); axis == 0 {
		x = Join(b, x)
	}
	return ops.Mean(x, axis)
}

// BinaryFocalCrossentropy returns the mean along axis of (1-q)^gamma · bce, where bce is the binary cross-entropy and q
// = t·p + (1-t)·(1-p) the (unlimited) probability of the label; where balanced, it is also weighted with t·alpha +
// (1-t)·(1-alpha). Logits go through a sigmoid first. Source: Lin et al., "Focal Loss for Dense Object Detection", ICCV
// 2017, equations 4 and 5. In 16 bits bce is that of the logits themselves.
func BinaryFocalCrossentropy(b Batch, yTrue, yPred *ops.Tensor, balanced bool, alpha, gamma float64, fromLogits bool, smoothing float64, axis int) *ops.Tensor {
	t, p := pair(yTrue, yPred)
	t = smooth(t, smoothing, 2)
	logits := p
	if fromLogits {
		p = ops.Sigmoid(p)
	}
	bare := fromLogits && p.DType().Size() == 2 // where 1-ε is 1, the limits leave the logarithm infinite
	entropy := p
	if bare {
		entropy = logits
	}
	one := ops.OnesLike(t)
	mix := func(a, b *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Multiply(t, a), ops.Multiply(ops.Subtract(one, t), b))
	}
	q := mix(p, ops.Subtract(one, p))
	focal := ops.Multiply(ops.PowerScalar(ops.Subtract(one, q), gamma), binaryCrossentropy(t, entropy, bare))
	if balanced {
		focal = ops.Multiply(mix(ops.Scalar(t, alpha), ops.Scalar(t, 1-alpha)), focal)
	}
	return meanAlong(b, focal, axis)
}

// normalized divides p by its sum along axis and limits it to [ε, 1-ε].
func normalized(p *ops.Tensor, axis int) *ops.Tensor {
	return probabilities(ops.Divide(p, keep(ops.Sum, p, axis)))
}

// classAxis returns the axis of the classes, which must not be the batch.
func classAxis(p *ops.Tensor, axis int) int {
	a := p.Axis(axis)
	if a == 0 {
		ops.Failf(p.Graph(), "the axis of the classes is %d, which is the batch axis of predictions %v; it must be another one", axis, p.Shape())
	}
	return a
}

// CategoricalCrossentropy returns -Σ t·ln p along axis, the axis of the C classes, with p divided by its sum and
// limited to [ε, 1-ε]; from logits ln p is p - logsumexp(p). Smoothing s replaces t by t·(1-s) + s/n, where n is the
// length of the last axis, as in Keras, also where that is not the one of the classes.
func CategoricalCrossentropy(yTrue, yPred *ops.Tensor, fromLogits bool, smoothing float64, axis int) *ops.Tensor {
	t, p := pairOf(true, yTrue, yPred)
	axis = classAxis(p, axis)
	t = smooth(t, smoothing, t.Dim(-1))
	logs := LogProbabilities(p, fromLogits, axis)
	return ops.Negative(ops.Sum(ops.Multiply(t, logs), axis))
}

// LogProbabilities is ln p along axis, with p divided by its sum and limited to [ε, 1-ε], or of logits that of their
// softmax.
func LogProbabilities(p *ops.Tensor, fromLogits bool, axis int) *ops.Tensor {
	if fromLogits {
		return ops.LogSoftmax(p, axis)
	}
	return ops.Log(normalized(p, axis))
}

// CategoricalFocalCrossentropy returns Σ alpha·(1-p)^gamma·(-t·ln p) along axis, with p divided by its sum and limited
// to [ε, 1-ε]. Logits go through a softmax first. Smoothing is that of CategoricalCrossentropy. alpha has one entry, or
// one for each place along the last axis, as NumPy broadcasts a vector. Source: as BinaryFocalCrossentropy.
func CategoricalFocalCrossentropy(yTrue, yPred *ops.Tensor, alpha []float64, gamma float64, fromLogits bool, smoothing float64, axis int) *ops.Tensor {
	t, p := pairOf(true, yTrue, yPred)
	axis = classAxis(p, axis)
	t = smooth(t, smoothing, t.Dim(-1))
	if fromLogits {
		p = ops.Softmax(p, axis)
	}
	p = normalized(p, axis)
	if n := len(alpha); n != 1 && n != p.Dim(-1) {
		ops.Failf(p.Graph(), "alpha has %d entries; expected 1, or one for each of the %d classes of predictions %v", n, p.Dim(-1), p.Shape())
	}
	weight := ops.Multiply(ops.PowerScalar(ops.Subtract(ops.OnesLike(p), p), gamma), ops.Constant(p, p.DType(), ir.Shape{len(alpha)}, alpha))
	return ops.Negative(ops.Sum(ops.Multiply(weight, ops.Multiply(t, ops.Log(p))), axis))
}

// SparseCategoricalCrossentropy returns -ln p[t] with integer class numbers t of the shape of p without axis, the axis
// of the classes; p is treated as in CategoricalCrossentropy. A trailing axis of length 1 of the labels is taken off. A
// label outside [0, C) is an error when the program runs.
//
// If ignore is not nil, labels equal to it give 0, and the result carries the mask of the others.
func SparseCategoricalCrossentropy(yTrue, yPred *ops.Tensor, fromLogits bool, ignore *int, axis int) *ops.Tensor {
	p := floats(yPred)
	if p.Rank() == 0 {
		ops.Failf(p.Graph(), "predictions are a scalar; expected (batch, ..., classes)")
	}
	axis = classAxis(p, axis)
	t := classNumbers(yTrue, p, axis)
	var valid *ops.Tensor
	if ignore != nil {
		valid = ops.CompareScalar(ir.Ne, t, float64(*ignore))
		t = ops.Where(valid, t, ops.ZerosLike(t))
		// What is predicted at an ignored place must not reach the gradient, whatever it is.
		p = ops.Where(ops.ExpandDims(valid, axis), p, ops.OnesLike(p))
	}
	var loss *ops.Tensor
	if fromLogits {
		loss = ops.SparseSoftmaxCrossEntropy(ops.MoveAxis(p, axis, -1), t)
	} else {
		loss = ops.Negative(pick(ops.Log(normalized(p, axis)), t, axis))
	}
	if valid != nil {
		loss = ops.Where(valid, loss, ops.ZerosLike(loss)).WithMask(valid)
	}
	return loss
}

// classNumbers returns integer labels of the shape of p without axis.
func classNumbers(yTrue, p *ops.Tensor, axis int) *ops.Tensor {
	want := p.Shape().Without(axis)
	t := yTrue
	if t.Rank() == p.Rank() && t.Rank() > 0 {
		if t.Dim(axis) == 1 {
			t = ops.Squeeze(t, axis)
		} else if t.Dim(-1) == 1 {
			t = ops.Squeeze(t, -1)
		}
	}
	if !t.Shape().Equal(want) {
		ops.Failf(p.Graph(), "labels have shape %v and predictions %v; expected integer class numbers of shape %v (for one-hot labels use the categorical variant)", yTrue.Shape(), p.Shape(), want)
	}
	if !t.DType().IsInteger() {
		t = wholeLabels(t)
	}
	return t
}

// wholeLabels turns labels of another type into integers. What is not integer, NaN among it, becomes one that is no
// class, so that the run fails.
func wholeLabels(t *ops.Tensor) *ops.Tensor {
	whole := ops.Cast(t, ir.Int32)
	if t.DType() == ir.Bool {
		return whole
	}
	return ops.Where(ops.Equal(ops.Cast(whole, t.DType()), t), whole, ops.FullLike(whole, math.MinInt32))
}

// pick returns x[.., t, ..] with the class number along axis. A number that is no class, also one below zero, makes the
// run fail with an error that names it.
func pick(x, t *ops.Tensor, axis int) *ops.Tensor {
	n := x.Dim(axis)
	classes := ops.Reshape(ops.Arange(x, ir.Int32, n), n, 1)
	checked := ops.Squeeze(ops.Embedding(classes, t), -1) // an embedding does not count from the end
	return ops.Squeeze(ops.TakeAlongAxis(x, ops.ExpandDims(checked, axis), axis), axis)
}

// CategoricalGeneralizedCrossEntropy returns (1 - p[t]^q)/q with integer class numbers t and the classes on the last
// axis. Source: Zhang, Sabuncu, "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels",
// NeurIPS 2018, equation 6.
func CategoricalGeneralizedCrossEntropy(yTrue, yPred *ops.Tensor, q float64) *ops.Tensor {
	p := floats(yPred)
	if p.Rank() == 0 {
		ops.Failf(p.Graph(), "predictions are a scalar; expected (batch, ..., classes)")
	}
	axis := classAxis(p, -1)
	likely := pick(p, classNumbers(yTrue, p, axis), axis)
	return ops.DivideScalar(ops.Subtract(ops.OnesLike(likely), ops.PowerScalar(likely, q)), q)
}
