package layers

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// moments returns mean and variance of each channel of the local batch, or of the global one.
func (l *BatchNormalization) moments(c *Context, x, mask *ops.Tensor, axis int) (mean, variance *ops.Tensor) {
	axes := othersThan(axis, x.Rank())
	synchronized := l.Synchronized && c.NumReplicasInSync() > 1
	if mask == nil && !synchronized {
		return ops.Moments(x, axes...)
	}
	var kept *ops.Tensor
	if mask != nil {
		kept = ops.BroadcastTo(ops.ExpandDims(mask, -1), x.Shape()...)
	}
	sum := func(t *ops.Tensor) *ops.Tensor { return ops.Sum(onlyKept(t, kept), axes...) }
	count := ops.BroadcastTo(ops.Length(x, x.DType(), x.Shape().Without(axis).Size()), x.Dim(axis))
	if mask != nil {
		count = sum(ops.OnesLike(x))
	}
	if synchronized {
		return jointMoments(c, x, sum, count, axis)
	}
	// Keras adds 1e-7 so that a batch without any step has mean and variance 0.
	count = ops.AddScalar(count, 1e-7)
	mean = ops.Divide(sum(x), count)
	variance = ops.Divide(sum(ops.Square(ops.Subtract(x, along(mean, x, axis)))), count)
	return mean, variance
}

// withRows removes the rows that are not examples from a mask for x (batch, ..., channels); see
// distribute.Replica.Rows.
func withRows(c *Context, x, mask *ops.Tensor) *ops.Tensor {
	rows := c.Rows()
	if rows == nil {
		return mask
	}
	if x.Dim(0) != rows.Dim(0) {
		objectives.NoFilling(c, x, "batch normalization of several rows for each example")
	}
	for rows.Rank() < x.Rank()-1 {
		rows = ops.ExpandDims(rows, -1)
	}
	rows = ops.BroadcastTo(rows, x.Shape()[:x.Rank()-1]...)
	if mask == nil {
		return rows
	}
	return ops.LogicalAnd(mask, rows)
}

// onlyKept sets the elements that are not kept to 0; nil keeps all.
func onlyKept(x, kept *ops.Tensor) *ops.Tensor {
	if kept == nil {
		return x
	}
	return ops.Where(kept, x, ops.Scalar(x, 0))
}

// jointMoments combines the replicas' moments. From the counts n, means m and sums of squared deviations s of the
// replicas,
//
//	mean = Σ n·m / Σ n        variance = (Σ s + Σ n·(m - mean)²) / Σ n
//
// (Chan et al., "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979), which, unlike the
// difference of E[x²] and mean², does not suffer from cancellation. A single gather exchanges n, m and s.
func jointMoments(c *Context, x *ops.Tensor, sum func(*ops.Tensor) *ops.Tensor, count *ops.Tensor, axis int) (mean, variance *ops.Tensor) {
	local := ops.Divide(sum(x), ops.MaximumScalar(count, 1))
	deviation := sum(ops.Square(ops.Subtract(x, along(local, x, axis))))
	all := c.AllGather(ops.ExpandDims(ops.Stack(0, count, local, deviation), 0), 0) // (replicas, 3, channels)
	n, m, s := ops.Index(all, 1, 0), ops.Index(all, 1, 1), ops.Index(all, 1, 2)
	total := ops.MaximumScalar(ops.Sum(n, 0), 1)
	mean = ops.Divide(ops.Sum(ops.Multiply(n, m), 0), total)
	between := ops.Multiply(n, ops.Square(ops.Subtract(m, mean)))
	return mean, ops.Divide(ops.Sum(ops.Add(s, between), 0), total)
}

// othersThan returns all axes but one.
func othersThan(axis, rank int) []int {
	axes := make([]int, 0, rank)
	for i := range rank {
		if i != axis {
			axes = append(axes, i)
		}
	}
	return axes
}

// update moves the moving statistics towards those of the batch; nil stands for an empty local batch.
func (l *BatchNormalization) update(c *Context, mean, variance *ops.Tensor) {
	vars, news := []*distribute.Variable{l.movingMean, l.movingVariance}, []*ops.Tensor{nil, nil}
	if l.Renorm {
		vars = append(vars, l.movingStddev, l.renormMean, l.renormStddev)
		news = make([]*ops.Tensor, 5)
	}
	if mean != nil {
		momentum := number(l.Momentum, 0.99)
		news[0] = l.follow(c, l.movingMean, mean, momentum)
		news[1] = l.follow(c, l.movingVariance, variance, momentum)
		if l.Renorm {
			epsilon := number(l.Epsilon, 1e-3)
			stddev, slow := ops.Sqrt(ops.AddScalar(variance, epsilon)), number(l.RenormMomentum, 0.99)
			news[2] = l.follow(c, l.movingStddev, stddev, momentum)
			news[3], news[4] = l.follow(c, l.renormMean, mean, slow), l.follow(c, l.renormStddev, stddev, slow)
			news[1] = ops.Relu(ops.SubtractScalar(ops.Square(news[2]), epsilon))
		}
	}
	for i, value := range l.meanOverReplicas(c, vars, news) {
		if value != nil {
			c.AssignMirrored(vars[i], value)
		}
	}
}

// follow returns moving · momentum + value · (1 - momentum).
func (l *BatchNormalization) follow(c *Context, moving *distribute.Variable, value *ops.Tensor, momentum float64) *ops.Tensor {
	old := ops.Cast(c.Read(moving), value.DType())
	return ops.Add(ops.MultiplyScalar(old, momentum), ops.MultiplyScalar(value, 1-momentum))
}

// meanOverReplicas returns the mean of the new values over the replicas that have one.
func (l *BatchNormalization) meanOverReplicas(c *Context, vars []*distribute.Variable, news []*ops.Tensor) []*ops.Tensor {
	if c.NumReplicasInSync() == 1 || l.Synchronized {
		return news
	}
	parts := slices.Clone(news)
	number := 1.0
	for i, v := range vars {
		if news[i] == nil {
			number = 0
			parts[i] = ops.ZerosLike(atLeastFloat32(c.Read(v)))
		}
	}
	weight := ops.Full(c, parts[0].DType(), number)
	if rows := c.Rows(); rows != nil { // a replica that has nothing but what fills the batch up
		weight = ops.Cast(ops.Any(rows), weight.DType())
		for i := range vars {
			parts[i] = ops.Multiply(parts[i], ops.Cast(weight, parts[i].DType()))
		}
	}
	parts = append(parts, weight)
	sums := c.AllReduce(ir.Sum, parts...)
	total := sums[len(vars)]
	for i, v := range vars {
		mean := ops.Divide(sums[i], ops.MaximumScalar(total, 1))
		parts[i] = ops.Where(ops.CompareScalar(ir.Gt, total, 0), mean, ops.Cast(c.Read(v), mean.DType()))
	}
	return parts[:len(vars)]
}
