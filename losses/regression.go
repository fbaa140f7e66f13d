package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MeanSquaredError is the mean over the last axis of (t-p)². Names: "mean_squared_error", "mse", "MSE". Behaviour of
// keras.losses.MeanSquaredError.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type MeanSquaredError struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=mean_squared_error"`
	DType     string    `keras:"dtype,omitempty"` // "" is float32, for float64 predictions float64
}

// PerExample implements [Loss].
func (l *MeanSquaredError) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.MeanSquaredError(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *MeanSquaredError) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *MeanSquaredError) LossName() string { return named(l.Name, "mean_squared_error") }

func (l *MeanSquaredError) dtype() string { return l.DType }

// MeanAbsoluteError is the mean over the last axis of |t-p|. Names: "mean_absolute_error", "mae", "MAE". Behaviour of
// keras.losses.MeanAbsoluteError.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type MeanAbsoluteError struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=mean_absolute_error"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *MeanAbsoluteError) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.MeanAbsoluteError(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *MeanAbsoluteError) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *MeanAbsoluteError) LossName() string { return named(l.Name, "mean_absolute_error") }

func (l *MeanAbsoluteError) dtype() string { return l.DType }

// MeanAbsolutePercentageError is 100 times the mean over the last axis of |t-p| / max(|t|, 1e-7), in percent. Names:
// "mean_absolute_percentage_error", "mape", "MAPE". Behaviour of keras.losses.MeanAbsolutePercentageError.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type MeanAbsolutePercentageError struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=mean_absolute_percentage_error"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *MeanAbsolutePercentageError) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.MeanAbsolutePercentageError(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *MeanAbsolutePercentageError) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *MeanAbsolutePercentageError) LossName() string {
	return named(l.Name, "mean_absolute_percentage_error")
}

func (l *MeanAbsolutePercentageError) dtype() string { return l.DType }

// MeanSquaredLogarithmicError is the mean over the last axis of (ln(max(p, 1e-7) + 1) - ln(max(t, 1e-7) + 1))². Names:
// "mean_squared_logarithmic_error", "msle", "MSLE". Behaviour of keras.losses.MeanSquaredLogarithmicError.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type MeanSquaredLogarithmicError struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=mean_squared_logarithmic_error"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *MeanSquaredLogarithmicError) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.MeanSquaredLogarithmicError(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *MeanSquaredLogarithmicError) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *MeanSquaredLogarithmicError) LossName() string {
	return named(l.Name, "mean_squared_logarithmic_error")
}

func (l *MeanSquaredLogarithmicError) dtype() string { return l.DType }

// Huber is, with e = p - t, the mean over the last axis of e²/2 where |e| <= delta and of delta·|e| - delta²/2
// elsewhere: quadratic for small and linear for large errors. Name: "huber". Behaviour of keras.losses.Huber. Source:
// Huber, "Robust Estimation of a Location Parameter", 1964.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type Huber struct {
	common
	Delta     float64   `keras:"delta,omitempty"` // where the branches meet; 0 is 1
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=huber_loss"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Huber) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	if l.Delta < 0 {
		ops.Failf(yPred.Graph(), "Huber.Delta must not be negative, received %v", l.Delta)
	}
	delta := l.Delta
	if delta == 0 {
		delta = 1
	}
	return objectives.Huber(yTrue, yPred, delta)
}

// ReductionKind implements [Loss].
func (l *Huber) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Huber) LossName() string { return named(l.Name, "huber_loss") }

func (l *Huber) dtype() string { return l.DType }

// LogCosh is the mean over the last axis of ln(cosh(p-t)), close to e²/2 for small and to |e| - ln 2 for large errors
// e. Name: "log_cosh". Behaviour of keras.losses.LogCosh.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type LogCosh struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=log_cosh"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *LogCosh) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.LogCosh(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *LogCosh) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *LogCosh) LossName() string { return named(l.Name, "log_cosh") }

func (l *LogCosh) dtype() string { return l.DType }

// CosineSimilarity is minus the cosine of the angle between labels and predictions, -Σ t/‖t‖ · p/‖p‖ along an axis: -1
// for equal directions. A vector of zeros gives 0. Name: "cosine_similarity". Behaviour of
// keras.losses.CosineSimilarity.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axis. With axis 0 it is one result for the global
// batch.
type CosineSimilarity struct {
	common
	Axis      *int      `keras:"axis,omitempty,default=-1"` // nil is -1
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=cosine_similarity"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CosineSimilarity) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return ops.Negative(objectives.CosineSimilarity(batchOf(yPred), yTrue, yPred, or(l.Axis, -1)))
}

// ReductionKind implements [Loss].
func (l *CosineSimilarity) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CosineSimilarity) LossName() string { return named(l.Name, "cosine_similarity") }

func (l *CosineSimilarity) dtype() string { return l.DType }

func (l *CosineSimilarity) reducesBatch(yPred ir.Shape) bool { return isBatch(or(l.Axis, -1), yPred) }

// or returns what p points to, or the default if p is nil.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// isBatch reports whether an axis of predictions is the batch axis. Predictions (batch) count as (batch, 1).
func isBatch(axis int, yPred ir.Shape) bool { return axis == 0 || axis == -max(len(yPred), 2) }
