package keras_test

import (
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// The models of testdata/custom_step.py.
const (
	ganFeatures = 6
	ganLatent   = 3
)

// GAN trains a discriminator and a generator, each by an optimizer of its own.
type GAN struct {
	Discriminator, Generator *keras.Model
	DOptimizer, GOptimizer   optimizers.Optimizer
	DLossMetric, GLossMetric *metrics.Mean
}

var fromLogits = &losses.BinaryCrossentropy{FromLogits: true}

func stack(name string, options []keras.Option, list ...layers.Layer) *keras.Model {
	m, err := keras.NewSequential(list, append(options, keras.Name(name), keras.DTypePolicy("float64"))...)
	if err != nil {
		panic(err)
	}
	return m
}

func newGAN(d, g optimizers.Optimizer, options ...keras.Option) *GAN {
	return &GAN{
		Discriminator: stack("discriminator", options, &layers.Dense{Units: 7, Activation: "leaky_relu"}, &layers.Dense{Units: 1}),
		Generator: stack("generator", options, &layers.Dense{Units: 5, NoBias: true}, &layers.BatchNormalization{Synchronized: true}, &layers.Activation{Activation: "relu"},
			&layers.Dense{Units: ganFeatures, Activation: "tanh"}),
		DOptimizer: d, GOptimizer: g,
		DLossMetric: metrics.NewMean("d_loss"), GLossMetric: metrics.NewMean("g_loss"),
	}
}

func (g *GAN) Call(c *layers.Context, noise *ops.Tensor) *ops.Tensor {
	return g.Generator.Call(c, noise)
}

func (g *GAN) TrainStep(s *keras.Step) keras.StepLogs {
	real, noise := s.X[0], s.Y[0]
	n := real.Dim(0)
	fake, zero := ops.Ones(s, real.DType(), n, 1), ops.Zeros(s, real.DType(), n, 1)
	images := ops.Concatenate(0, g.Generator.Call(s.Training(), noise), real)
	dLoss := losses.Compute(fromLogits, ops.Concatenate(0, fake, zero), g.Discriminator.Call(s.Training(), images), nil)
	s.Minimize(g.DOptimizer, dLoss, g.Discriminator.TrainableVariables())

	guess := g.Discriminator.Call(s.Training(), g.Generator.Call(s.Training(), noise))
	gLoss := losses.Compute(fromLogits, zero, guess, nil)
	s.Minimize(g.GOptimizer, gLoss, g.Generator.TrainableVariables())
	return keras.StepLogs{"d_loss": dLoss, "g_loss": gLoss}
}

// wgan makes several steps of the discriminator for one of the generator, and penalizes the length of a gradient.
type wgan struct{ *GAN }

func (g *wgan) TrainStep(s *keras.Step) keras.StepLogs {
	real, noise := s.X[0], s.Y[0]
	var dLoss *ops.Tensor
	for range 3 {
		fake := g.Generator.Call(s.Training(), noise)
		cost := ops.Subtract(s.Mean(g.Discriminator.Call(s.Training(), fake)), s.Mean(g.Discriminator.Call(s.Training(), real)))
		between := ops.Add(real, ops.MultiplyScalar(ops.Subtract(fake, real), 0.25))
		slope := ops.NewTape(s).Gradients(g.Discriminator.Call(s.Training(), between), between).Values[0]
		norm := ops.Sqrt(ops.Sum(ops.Square(slope), 1))
		dLoss = ops.Add(cost, ops.MultiplyScalar(s.Mean(ops.Square(ops.AddScalar(norm, -1))), 10))
		s.Minimize(g.DOptimizer, dLoss, g.Discriminator.TrainableVariables())
	}
	gLoss := ops.Negative(s.Mean(g.Discriminator.Call(s.Training(), g.Generator.Call(s.Training(), noise))))
	s.Minimize(g.GOptimizer, gLoss, g.Generator.TrainableVariables())
	return keras.StepLogs{"d_loss": dLoss, "g_loss": gLoss}
}

// sampling adds the divergence of a normal distribution to the loss.
type sampling struct{ layers.Base }

func (l *sampling) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	mean, logVar, eps := in[0], in[1], in[2]
	d := ops.Subtract(ops.Subtract(ops.AddScalar(logVar, 1), ops.Square(mean)), ops.Exp(logVar))
	c.AddLoss(ops.MultiplyScalar(ops.Mean(ops.Sum(d, 1)), -0.5))
	return []*ops.Tensor{ops.Add(mean, ops.Multiply(ops.Exp(ops.MultiplyScalar(logVar, 0.5)), eps))}
}

// vae has a loss added by a layer, regularization, a metric and a test step.
type vae struct {
	Encoder      *keras.Model
	Mean, LogVar *layers.Dense
	Sampling     *sampling
	Decoder      *keras.Model
	Rebuilt      *metrics.Mean
	MAE          *metrics.MeanAbsoluteError
}

func newVAE() *vae {
	return &vae{
		Encoder: stack("encoder", nil, &layers.Dense{Units: 5, Activation: "relu", KernelRegularizer: "l2"}),
		Mean:    &layers.Dense{Units: ganLatent}, LogVar: &layers.Dense{Units: ganLatent}, Sampling: &sampling{},
		Decoder: stack("decoder", nil, &layers.Dense{Units: 5, Activation: "relu"}, &layers.Dense{Units: ganFeatures, Activation: "sigmoid"}),
		Rebuilt: metrics.NewMean("reconstruction"), MAE: &metrics.MeanAbsoluteError{},
	}
}

func (v *vae) Call(c *layers.Context, x, eps *ops.Tensor) *ops.Tensor {
	h := v.Encoder.Call(c, x)
	return v.Decoder.Call(c, layers.Invoke(v.Sampling, c, layers.Invoke(v.Mean, c, h), layers.Invoke(v.LogVar, c, h), eps))
}

// measure returns the loss and the logs with it.
func (v *vae) measure(s *keras.Step, c *layers.Context) (*ops.Tensor, keras.StepLogs) {
	x := s.X[0]
	y := v.Call(c, x, s.Y[0])
	perExample := ops.MultiplyScalar((&losses.BinaryCrossentropy{}).PerExample(x, y), ganFeatures)
	v.Rebuilt.UpdateValues(perExample, nil)
	v.MAE.Update(x, y, nil)
	loss := ops.Add(s.Mean(perExample), s.AddedLosses())
	return loss, keras.StepLogs{"loss": loss, "reconstruction": v.Rebuilt, "mae": v.MAE}
}

func (v *vae) TrainStep(s *keras.Step) keras.StepLogs {
	loss, logs := v.measure(s, s.Training())
	s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
	return logs
}

func (v *vae) TestStep(s *keras.Step) keras.StepLogs {
	_, logs := v.measure(s, s.Inference())
	return logs
}

// clipped is Keras's own step, with clipped gradients.
func clipped(s *keras.Step) keras.StepLogs {
	yPred := s.Model().Call(s.Training(), s.X...)
	loss := s.ComputeLoss(yPred)
	gradients := ops.NewTape(s).Gradients(loss, s.Model().TrainableVariables())
	for i, g := range gradients.Values {
		gradients.Values[i] = ops.Clip(s.AllReduce(ir.Sum, g)[0], -0.05, 0.05)
	}
	s.WithoutAggregation(func() { s.Apply(s.Optimizer(), gradients) })
	return s.ComputeMetrics(yPred)
}
