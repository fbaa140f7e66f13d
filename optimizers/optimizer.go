package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Optimizer updates weights from their gradients.
type Optimizer interface {
	// Build creates the optimizer's variables for the weights to be trained. Building again for the same weights
	// changes nothing; an optimizer serves only the weights it was built for. Built for none, it has what does not
	// belong to a weight, and can be built for some later.
	Build(weights distribute.Variables) error
	// Apply updates the weights inside a trace. The gradients are those of this replica's part of the loss, of a
	// distribute.Variables; they are summed over the replicas. An optimizer that has not been built is built for these
	// weights.
	Apply(r *distribute.Replica, gradients ops.Gradients)
	// ScaleLoss returns the loss to differentiate: loss itself, or a multiple of it that Apply takes back from the
	// gradients.
	ScaleLoss(r *distribute.Replica, loss *ops.Tensor) *ops.Tensor
	// Variables is the state, in the order of Keras's files: iteration, learning rate (unless a schedule drives it),
	// moving averages, gradient accumulators, slots. nil before Build.
	Variables() distribute.Variables
	// Averages are the moving averages of the weights, in the order of the weights; nil without UseEMA.
	Averages() distribute.Variables
	// Rate is the learning rate of the next step.
	Rate() (float64, error)
	// SetLearningRate changes the learning rate; it is an error where a schedule drives it.
	SetLearningRate(rate float64) error
	// FinalizeVariables copies the moving averages into the weights, at the end of training; without UseEMA it does
	// nothing.
	FinalizeVariables() error
}

// Rule is what tells one optimizer from another. Optimizers of your own embed [Base], implement Rule, and hand Build
// and Apply on:
//
//	func (o *Mine) Build(w distribute.Variables) error              { return o.BuildRule(o, w) }
//	func (o *Mine) Apply(r *distribute.Replica, g ops.Gradients)    { o.ApplyRule(o, r, g) }
type Rule interface {
	// Settings returns what is common to all optimizers.
	Settings() Settings
	// Slots lists the variables to keep for one weight.
	Slots(weight *distribute.Variable) []Slot
	// Update returns the new value w' of a weight and of its slots. gradient has the type of w, and is clipped and so
	// on already.
	//
	// If Update treats each element by itself and keeps slots of the shape of the weight, a method Elementwise(weight
	// *distribute.Variable) bool that returns true lets strategies with ShardOptimizerState call it with pieces: w,
	// gradient and slots are of rank 1 then, with the elements of one replica and perhaps zeros at the end. Without the
	// method it is always called with all of them.
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
	// OfWeight makes it begin with the value of the weight instead.
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
	// WeightDecay d takes w·d·(learning rate) off every weight before the update, whatever the optimizer: decoupled
	// weight decay (Loshchilov, Hutter, ICLR 2019). See Base.ExcludeFromWeightDecay.
	WeightDecay *float64 `keras:"weight_decay"`
	// ClipNorm c limits the Euclidean length of each weight's gradient: g·c/max(‖g‖, c). At most one of the three kinds
	// may be set.
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
	// EMAOverwriteFrequency k replaces the weights by the averages every k steps; 0 is never.
	EMAOverwriteFrequency int `keras:"ema_overwrite_frequency,default=null"`
	// LossScaleFactor multiplies the loss that is differentiated and divides the gradients, so that small ones survive
	// half precision.
	LossScaleFactor *float64 `keras:"loss_scale_factor"`
	// GradientAccumulationSteps n >= 2 updates the weights only every n-th step, with the mean of n gradients; 0 is
	// off. The learning rate follows the steps, the rule's own step count the updates.
	GradientAccumulationSteps int `keras:"gradient_accumulation_steps,default=null"`
}

// or returns what p points to, or the default.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
