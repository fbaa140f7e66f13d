package schedules

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CosineDecay is initial · [(1-alpha)·(1 + cos(π·s/steps))/2 + alpha], which falls to alpha·initial at DecaySteps and
// stays there. With WarmupTarget, the rate first rises from initial to the target, in a straight line over WarmupSteps,
// and then decays from the target over DecaySteps more. Behaviour of keras.optimizers.schedules.CosineDecay. Source:
// Loshchilov, Hutter, "SGDR", ICLR 2017, equation 5.
type CosineDecay struct {
	InitialLearningRate float64  `keras:"initial_learning_rate,required"`
	DecaySteps          float64  `keras:"decay_steps,required"` // positive
	Alpha               float64  `keras:"alpha"`                // share of the rate that is left in the end
	WarmupTarget        *float64 `keras:"warmup_target"`        // nil: no warm-up
	WarmupSteps         float64  `keras:"warmup_steps,null"`
	Name                string   `keras:"name,default=CosineDecay"`
}

func (s *CosineDecay) check() error {
	if !(s.WarmupSteps >= 0) {
		return fmt.Errorf("WarmupSteps must not be negative, received %v", s.WarmupSteps)
	}
	return positiveSteps(s.DecaySteps)
}

// Rate implements [Schedule].
func (s *CosineDecay) Rate(step *ops.Tensor) *ops.Tensor {
	step = begin(s, step)
	n := s.DecaySteps
	decay := func(step *ops.Tensor, from float64) *ops.Tensor {
		done := ops.DivideScalar(step, n)
		half := ops.MultiplyScalar(ops.AddScalar(ops.Cos(ops.MultiplyScalar(done, math.Pi)), 1), 0.5)
		return ops.MultiplyScalar(ops.AddScalar(ops.MultiplyScalar(half, 1-s.Alpha), s.Alpha), from)
	}
	if s.WarmupTarget == nil {
		return decay(ops.MinimumScalar(step, n), s.InitialLearningRate)
	}
	warm := s.WarmupSteps
	step = ops.MinimumScalar(step, n+warm)
	after := decay(ops.SubtractScalar(step, warm), *s.WarmupTarget)
	if s.WarmupSteps == 0 {
		return after
	}
	rise := ops.MultiplyScalar(ops.DivideScalar(step, warm), *s.WarmupTarget-s.InitialLearningRate)
	rise = ops.AddScalar(rise, s.InitialLearningRate)
	return ops.Where(ops.CompareScalar(ir.Lt, step, warm), rise, after)
}

// At implements [Schedule].
func (s *CosineDecay) At(step int64) float64 {
	n, at, from := s.DecaySteps, float64(step), s.InitialLearningRate
	if s.WarmupTarget != nil {
		warm := s.WarmupSteps
		if at < warm {
			return (*s.WarmupTarget-from)*(at/warm) + from
		}
		at, from = at-warm, *s.WarmupTarget
	}
	at = min(at, n)
	return from * ((1-s.Alpha)*0.5*(1+math.Cos(math.Pi*at/n)) + s.Alpha)
}

// CosineDecayRestarts runs cosine decays one after the other: the i-th (from 0) is FirstDecaySteps·TMul^i steps long
// and begins at the rate initial·MMul^i,
//
//	initial · [(1-alpha)·MMul^i·(1 + cos(π·f))/2 + alpha]
//
// where f is the fraction of the current decay that is done. Behaviour of
// keras.optimizers.schedules.CosineDecayRestarts, except that the step of a restart is found exactly: Keras's logarithm
// can round to the decay before. Source: Loshchilov, Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts",
// ICLR 2017.
type CosineDecayRestarts struct {
	InitialLearningRate float64  `keras:"initial_learning_rate,required"`
	FirstDecaySteps     float64  `keras:"first_decay_steps,required"` // positive
	TMul                float64  `keras:"t_mul,default=2"`            // at least 1; 0 is 2
	MMul                *float64 `keras:"m_mul,default=1"`            // nil is 1
	Alpha               float64  `keras:"alpha"`                      // share of the initial rate that no decay goes below
	Name                string   `keras:"name,default=SGDRDecay"`
}

func (s *CosineDecayRestarts) check() error {
	if !(s.FirstDecaySteps > 0) {
		return fmt.Errorf("FirstDecaySteps must be positive, received %v", s.FirstDecaySteps)
	}
	if !(s.growth() >= 1) {
		return fmt.Errorf("TMul must be at least 1, received %v: shorter and shorter decays would come to an end", s.TMul)
	}
	return nil
}

func (s *CosineDecayRestarts) growth() float64 {
	if s.TMul == 0 {
		return 2
	}
	return s.TMul
}

// If decays become longer, a restart counts as due if it is less than slack steps away, or less than the rounding
// errors of the step number and of the powers in float32, or in float64.
const (
	slack      = 0.01
	rounding   = 4e-7
	rounding64 = 1e-12
)

// Rate implements [Schedule].
func (s *CosineDecayRestarts) Rate(step *ops.Tensor) *ops.Tensor {
	step = begin(s, step)
	first, t := s.FirstDecaySteps, s.growth()
	done := ops.DivideScalar(step, first)
	var i, f *ops.Tensor // the number of the current decay, and how much of it is done
	if t == 1 {
		i = ops.Floor(done)
		f = ops.DivideScalar(ops.Subtract(step, ops.MultiplyScalar(i, first)), first)
	} else {
		begins := func(i *ops.Tensor) *ops.Tensor { // in units of the first decay
			return ops.DivideScalar(ops.SubtractScalar(ops.Power(ops.Scalar(i, t), i), 1), t-1)
		}
		late := ops.AddScalar(ops.MultiplyScalar(done, 1+rounding), slack/first)
		i = ops.Floor(ops.DivideScalar(ops.Log(ops.AddScalar(ops.MultiplyScalar(done, t-1), 1)), math.Log(t)))
		next := ops.AddScalar(i, 1)
		i = ops.Where(ops.GreaterEqual(late, begins(next)), next, ops.Where(ops.Less(late, begins(i)), ops.SubtractScalar(i, 1), i))
		f = ops.Divide(ops.Subtract(done, begins(i)), ops.Power(ops.Scalar(i, t), i))
	}
	f = ops.MaximumScalar(f, 0)
	half := ops.MultiplyScalar(ops.AddScalar(ops.Cos(ops.MultiplyScalar(f, math.Pi)), 1), 0.5)
	half = ops.Multiply(half, ops.Power(ops.Scalar(i, or(s.MMul, 1)), i))
	return ops.MultiplyScalar(ops.AddScalar(ops.MultiplyScalar(half, 1-s.Alpha), s.Alpha), s.InitialLearningRate)
}

// At implements [Schedule].
func (s *CosineDecayRestarts) At(step int64) float64 {
	first, t := s.FirstDecaySteps, s.growth()
	done := float64(step) / first
	late := done*(1+rounding64) + slack/first
	i := math.Floor(late)
	length, start := 1.0, i
	if t != 1 {
		begins := func(i float64) float64 { return (math.Pow(t, i) - 1) / (t - 1) }
		i = math.Floor(math.Log(1+done*(t-1)) / math.Log(t))
		switch {
		case late >= begins(i+1):
			i++
		case late < begins(i):
			i--
		}
		length, start = math.Pow(t, i), begins(i)
	}
	f := max((done-start)/length, 0)
	half := math.Pow(or(s.MMul, 1), i) * 0.5 * (1 + math.Cos(math.Pi*f))
	return s.InitialLearningRate * ((1-s.Alpha)*half + s.Alpha)
}
