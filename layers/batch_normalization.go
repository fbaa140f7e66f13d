package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// BatchNormalization gives each channel mean 0 and variance 1, then a learned scale and offset:
//
//	y = gamma · (x - mean) / sqrt(variance + Epsilon) + beta
//
// In training, mean and (biased) variance are those of the batch, over all axes but Axis, and the moving statistics are
// updated:
//
//	moving = moving · Momentum + batch · (1 - Momentum)
//
// Otherwise, and when the layer is frozen, the moving statistics are used instead of the batch's. Masked steps do not
// count in the statistics. Half precision is computed in float32.
//
// With several replicas, each one normalizes with the statistics of its own part of the batch, as in Keras, and the new
// moving statistics are the mean over the replicas whose part is not empty. With Synchronized the statistics are those
// of the global batch, each example counting once: N replicas compute the same as one on the joined batch.
//
// Input shape: any; Output shape: that of the input. A mask passes through. Weights: gamma, beta, moving_mean,
// moving_variance (channels), the latter two not trained; with Renorm also moving_stddev, renorm_mean, renorm_stddev.
// Source: Ioffe, Szegedy, "Batch Normalization", ICML 2015; renormalization: Ioffe, "Batch Renormalization", NeurIPS
// 2017.
type BatchNormalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained: uses the moving statistics

	Axis         int      `keras:"axis,default=-1"`       // the channels' axis; 0 is -1, the last
	Momentum     *float64 `keras:"momentum,default=0.99"` // nil is 0.99
	Epsilon      *float64 `keras:"epsilon,default=0.001"` // nil is 1e-3
	NoCenter     bool     `keras:"center,not"`            // no beta
	NoScale      bool     `keras:"scale,not"`             // no gamma
	Synchronized bool     `keras:"synchronized"`          // statistics over all replicas

	Renorm         bool               `keras:"renorm"`                            // correct the batch's statistics towards the moving ones
	RenormClipping map[string]float64 `keras:"renorm_clipping,default=null"`      // limits "rmin", "rmax", "dmax"
	RenormMomentum *float64           `keras:"renorm_momentum,null,default=0.99"` // nil is 0.99

	BetaInitializer           any `keras:"beta_initializer,default=Zeros"`
	GammaInitializer          any `keras:"gamma_initializer,default=Ones"`
	MovingMeanInitializer     any `keras:"moving_mean_initializer,default=Zeros"`
	MovingVarianceInitializer any `keras:"moving_variance_initializer,default=Ones"`
	BetaRegularizer           any `keras:"beta_regularizer"`
	GammaRegularizer          any `keras:"gamma_regularizer"`
	BetaConstraint            any `keras:"beta_constraint"`
	GammaConstraint           any `keras:"gamma_constraint"`

	affine
	movingMean, movingVariance             *distribute.Variable
	movingStddev, renormMean, renormStddev *distribute.Variable
}

// Build creates the weights.
func (l *BatchNormalization) Build(b *Builder, in []ir.Shape) {
	shape := ir.Shape{in[0][channelAxis(b.context.Graph(), l.Axis, in[0])]}
	l.buildAffine(b, shape, affineFields{l.NoScale, l.NoCenter, l.GammaInitializer, l.BetaInitializer, l.GammaRegularizer, l.BetaRegularizer, l.GammaConstraint, l.BetaConstraint})
	statistic := func(name string, initializer any) *distribute.Variable {
		return b.AddWeight(name, shape, WeightOptions{Initializer: initializer, Frozen: true})
	}
	mean, variance := orDefault(l.MovingMeanInitializer, "zeros"), orDefault(l.MovingVarianceInitializer, "ones")
	l.movingMean = statistic("moving_mean", mean)
	l.movingVariance = statistic("moving_variance", variance)
	if l.Renorm {
		l.checkClipping(b)
		start, err := initializers.Get(variance)
		b.check("moving_stddev", err)
		stddev := rootInitializer{start}
		l.movingStddev = statistic("moving_stddev", stddev)
		l.renormMean = statistic("renorm_mean", mean)
		l.renormStddev = statistic("renorm_stddev", stddev)
	}
}

// Forward computes the layer.
func (l *BatchNormalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	mask := one(c, in).Mask()
	x := atLeastFloat32(in[0])
	if mask != nil && mask.Rank() != x.Rank()-1 {
		ops.Failf(c.Graph(), "the mask has shape %v; expected one axis less than the input's %v", mask.Shape(), x.Shape())
	}
	axis := channelAxis(c.Graph(), l.Axis, x.Shape())
	gamma, beta := l.affineWeights(c, x)
	epsilon := number(l.Epsilon, 1e-3)
	if !c.Training || l.frozenIn(c) {
		mean, variance := l.moving(c, x)
		return []*ops.Tensor{ops.Cast(normalize(x, mean, variance, gamma, beta, axis, epsilon), c.ComputeDType())}
	}
	mask = withRows(c, x, mask)
	var y *ops.Tensor
	switch plain := mask == nil && !l.Renorm && (!l.Synchronized || c.NumReplicasInSync() == 1); {
	case x.Shape().Size() == 0 && !(l.Synchronized && c.NumReplicasInSync() > 1):
		// There is nothing to normalize, but the weights must be part of the program as on the other replicas.
		mean, variance := l.moving(c, x)
		y = normalize(x, mean, variance, gamma, beta, axis, epsilon)
		l.update(c, nil, nil)
	case plain && axis == x.Rank()-1:
		var mean, variance *ops.Tensor
		y, mean, variance = ops.BatchNormalization(x, orFull(gamma, x, 1, x.Dim(-1)), orFull(beta, x, 0, x.Dim(-1)), epsilon)
		l.update(c, mean, variance)
	default:
		mean, variance := l.moments(c, x, mask, axis)
		if l.Renorm {
			gamma, beta = l.renormalize(c, mean, variance, gamma, beta, epsilon)
		}
		y = normalize(x, mean, variance, gamma, beta, axis, epsilon)
		l.update(c, mean, variance)
	}
	return []*ops.Tensor{ops.Cast(y, c.ComputeDType())}
}

// moving returns the moving statistics in the type of x.
func (l *BatchNormalization) moving(c *Context, x *ops.Tensor) (mean, variance *ops.Tensor) {
	return ops.Cast(c.Read(l.movingMean), x.DType()), ops.Cast(c.Read(l.movingVariance), x.DType())
}

// SupportsMasking reports that a mask passes through.
func (l *BatchNormalization) SupportsMasking() bool { return true }

// IgnoredConfig adds keys of older versions.
func (l *BatchNormalization) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "fused", "virtual_batch_size=null", "adjustment=null")
}

func init() { Register[BatchNormalization]() }
