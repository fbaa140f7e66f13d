package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Optimizer updates weights from their gradients.
type Optimizer interface {
	// Build creates the optimizer's variables for the weights to be trained. Building again for the same weights
	// changes nothing; an optimizer serves only the weights it was built for. If it is built for no weights, it has
	// only the variables that belong to no weight, and can be built for weights later.
	Build(weights distribute.Variables) error
	// Apply updates the weights inside a trace. The gradients are those of this replica's part of the loss, with
	// respect to a distribute.Variables; Apply sums them over the replicas. It builds the optimizer for these weights
	// if that has not been done.
	Apply(r *distribute.Replica, gradients ops.Gradients)
	// ScaleLoss returns the loss to differentiate: loss itself, or a multiple of it, by whose factor Apply divides the
	// gradients.
	ScaleLoss(r *distribute.Replica, loss *ops.Tensor) *ops.Tensor
	// Variables is the state, in the order of Keras's files: iteration, learning rate (unless a schedule drives it),
	// moving averages, gradient accumulators, slots. nil before Build.
	Variables() distribute.Variables
	// Averages are the moving averages of the weights, in the order of the weights; nil without UseEMA.
	Averages() distribute.Variables
	// Rate is the learning rate of the next step.
	Rate() (float64, error)
	// SetLearningRate changes the learning rate. It fails if a schedule drives the rate.
	SetLearningRate(rate float64) error
	// FinalizeVariables copies the moving averages into the weights, at the end of training; without UseEMA it does
	// nothing.
	FinalizeVariables() error
}

// Rule is the part in which optimizers differ. A custom optimizer embeds [Base], implements Rule, and forwards Build
// and Apply:
//
//	func (o *Mine) Build(w distribute.Variables) error              { return o.BuildRule(o, w) }
//	func (o *Mine) Apply(r *distribute.Replica, g ops.Gradients)    { o.ApplyRule(o, r, g) }
type Rule interface {
	// Settings returns the configuration that all optimizers share.
	Settings() Settings
	// Slots lists the variables to keep for one weight.
	Slots(weight *distribute.Variable) []Slot
	// Update returns the new value w' of a weight and of its slots. gradient has the type of w; it is already summed,
	// unscaled and clipped.
	//
	// If Update works element by element and its slots have the shape of the weight, the rule can have a method
	// Elementwise(weight *distribute.Variable) bool that returns true. Strategies with ShardOptimizerState then call
	// Update with pieces: w, gradient and slots have rank 1 and hold the elements of one replica, perhaps padded with
	// zeros. Without the method, Update always receives all elements.
	Update(s *Step, weight *distribute.Variable, w, gradient *ops.Tensor, slots []*ops.Tensor) (w2 *ops.Tensor, slots2 []*ops.Tensor)
}

// Settings are what the optimizers have in common.
type Settings struct {
	Name         string
	LearningRate any     // as in the optimizers' field of this name
	DefaultRate  float64 // stands for nil
	Options      Options
}

// Slot describes a variable that an optimizer keeps for a weight.
type Slot struct {
	Name  string // last part of its path: "dense_kernel_" + Name
	Shape ir.Shape
	DType ir.DType // Invalid: that of the weight
	Value float64  // it begins with
	// OfWeight makes it start with the value of the weight instead.
	OfWeight bool
	// Run orders the file: the slots of run 0 of all weights come before those of run 1; within a run slots go weight
	// by weight.
	Run int

	placeholder bool // see Base.unlisted
}

// like describes a slot of the shape of the weight.
func like(weight *distribute.Variable, name string) Slot {
	return Slot{Name: name, Shape: weight.Type().Shape}
}

// Options are the options that all optimizers share.
type Options struct {
	// WeightDecay d subtracts w·d·(learning rate) from every weight before the update, with any optimizer: decoupled
	// weight decay (Loshchilov, Hutter, ICLR 2019). See Base.ExcludeFromWeightDecay.
	WeightDecay *float64 `keras:"weight_decay"`
	// ClipNorm c limits the Euclidean length of each weight's gradient: g·c/max(‖g‖, c). At most one of ClipNorm,
	// GlobalClipNorm and ClipValue may be set.
	ClipNorm *float64 `keras:"clipnorm"`
	// GlobalClipNorm c limits the length of all gradients taken as one vector: g·c·min(1/‖G‖, 1/c). A norm that is not
	// finite makes all gradients NaN.
	GlobalClipNorm *float64 `keras:"global_clipnorm"`
	// ClipValue c limits each element to [-c, c].
	ClipValue *float64 `keras:"clipvalue"`
	// UseEMA keeps an exponential moving average of the weights, a ← m·a + (1-m)·w after each update (with m = 0 at the
	// first one). FinalizeVariables puts it into the weights.
	UseEMA bool `keras:"use_ema"`
	// EMAMomentum is m in [0, 1]; nil is 0.99.
	EMAMomentum *float64 `keras:"ema_momentum,null,default=0.99"`
	// EMAOverwriteFrequency k replaces the weights with the averages every k steps; 0 means never.
	EMAOverwriteFrequency int `keras:"ema_overwrite_frequency,default=null"`
	// LossScaleFactor multiplies the loss before differentiation and divides the gradients afterwards, so that small
	// gradients survive half precision.
	LossScaleFactor *float64 `keras:"loss_scale_factor"`
	// GradientAccumulationSteps n >= 2 updates the weights only every n-th step, with the mean of n gradients; 0 is
	// off. Learning-rate schedules count steps; the rule's own count is that of updates.
	GradientAccumulationSteps int `keras:"gradient_accumulation_steps,default=null"`
}

// or returns what p points to, or the default if p is nil.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
