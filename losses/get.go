package losses

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// classes holds the classes of losses by name, functions maps Keras's function names to classes, and own holds the
// functions that programs register.
var (
	classes   = config.NewRegistry[Loss]("losses")
	functions = map[string]string{}
	own       = config.NewFunctions[func(yTrue, yPred *ops.Tensor) *ops.Tensor]("losses.RegisterFunc")
)

// register makes a class known under its Go name and the given function names.
func register(class Loss, names ...string) {
	classes.Register(class)
	for _, n := range names {
		functions[n] = reflect.TypeOf(class).Elem().Name()
	}
}

func init() {
	register((*MeanSquaredError)(nil), "mean_squared_error", "mse", "MSE")
	register((*MeanAbsoluteError)(nil), "mean_absolute_error", "mae", "MAE")
	register((*MeanAbsolutePercentageError)(nil), "mean_absolute_percentage_error", "mape", "MAPE")
	register((*MeanSquaredLogarithmicError)(nil), "mean_squared_logarithmic_error", "msle", "MSLE")
	register((*Huber)(nil), "huber")
	register((*LogCosh)(nil), "log_cosh")
	register((*CosineSimilarity)(nil), "cosine_similarity")
	register((*BinaryCrossentropy)(nil), "binary_crossentropy", "bce", "BCE")
	register((*BinaryFocalCrossentropy)(nil), "binary_focal_crossentropy")
	register((*CategoricalCrossentropy)(nil), "categorical_crossentropy")
	register((*CategoricalFocalCrossentropy)(nil), "categorical_focal_crossentropy")
	register((*SparseCategoricalCrossentropy)(nil), "sparse_categorical_crossentropy")
	register((*CategoricalGeneralizedCrossEntropy)(nil), "categorical_generalized_cross_entropy")
	register((*KLDivergence)(nil), "kl_divergence", "kld", "KLD")
	register((*Poisson)(nil), "poisson")
	register((*Hinge)(nil), "hinge")
	register((*SquaredHinge)(nil), "squared_hinge")
	register((*CategoricalHinge)(nil), "categorical_hinge")
	register((*Dice)(nil), "dice")
	register((*Tversky)(nil), "tversky")
	register((*Circle)(nil), "circle")
	register((*CTC)(nil), "ctc")

	config.RegisterType(reflect.TypeFor[Loss](), "loss")
	config.RegisterKind("loss", func(v any) (any, error) { return Get(v) })
}

// Register registers a custom loss type under its class name, so that models that use it can be read from files. Call
// it from init. It panics if the name is taken. A type from outside this module is written to files as "Custom>Name",
// or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Loss
}](packageName ...string) {
	classes.Register((*T)(nil), packageName...)
}

// RegisterFunc gives a name to a function of labels and predictions such as [Func] takes. The name can then be used as
// a string, and models compiled with the function can be saved and read. In files the name is "Custom>name", or has the
// given package instead of Custom, as in Python with @keras.saving.register_keras_serializable(package=...). Call
// RegisterFunc from init. It panics if the name is taken. The function must not be a closure, because all closures of
// one function literal would share the name.
func RegisterFunc(name string, f func(yTrue, yPred *ops.Tensor) *ops.Tensor, packageName ...string) {
	own.Register(name, f, packageName)
}

// New returns a loss of the given class with default configuration.
func New(className string) (Loss, error) {
	if make, ok := classes.Find(className); ok {
		return make(), nil
	}
	return nil, fmt.Errorf("losses: unknown class %q; %sknown: %s; register your own with losses.Register", className,
		config.Guess(className, ClassNames()), strings.Join(ClassNames(), ", "))
}

// ClassNames lists the known classes in alphabetical order.
func ClassNames() []string { return classes.Names() }

// Get returns the loss that v stands for: a [Loss], a name of Keras ("mse", "MeanSquaredError"), a function of labels
// and predictions (see [Func]) or a configuration object. A loss requested by the name of a function has that name in
// logs. nil gives nil.
//
// The names "crossentropy" and "ce" need shapes to decide; see [Resolve].
func Get(v any) (Loss, error) {
	v = config.Given(v)
	if config.IsNil(v) {
		return nil, unfit(v)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case Loss:
		return v, nil
	case string:
		return byName(v)
	case func(yTrue, yPred *ops.Tensor) *ops.Tensor:
		_, name := own.Name(v)
		return Func(cmp.Or(name, "loss"), v), nil
	case config.Object:
		return fromObject(v)
	}
	return nil, unfit(v)
}

func unfit(v any) error {
	return fmt.Errorf("losses: received %s; expected a losses.Loss, a name such as \"mse\", or a function of labels and predictions", config.Received(v))
}

// builtIn makes a value of a class of this package.
func builtIn(class string) Loss {
	create, _ := classes.Find(class)
	return create()
}

func byName(name string) (Loss, error) {
	if make, ok := classes.Find(name); ok {
		return make(), nil
	}
	if class, ok := functions[name]; ok {
		l := builtIn(class)
		if f := reflect.ValueOf(l).Elem().FieldByName("Name"); f.IsValid() {
			f.SetString(name)
		}
		return l, nil
	}
	if _, f, ok := own.Find(name); ok {
		return Get(f)
	}
	known := slices.Sorted(maps.Keys(functions))
	return nil, fmt.Errorf("losses: unknown loss %q; %sknown: %s; also by class, as MeanSquaredError; give functions of your own names with losses.RegisterFunc", name, config.Guess(name, known, ClassNames()), strings.Join(append(known, config.WithoutNames(ClassNames(), functions)...), ", "))
}

func fromObject(o config.Object) (Loss, error) {
	if name, ok := o.FunctionName(); ok {
		return byName(name)
	}
	l, err := classes.Object(o, New)
	if err != nil {
		return nil, err
	}
	rest, base := config.TakeBaseKeys(o.Config, l, "name", "reduction", "dtype")
	if err := config.Decode(rest, l); err != nil {
		return nil, err
	}
	return l, base.Only(l, "reduction", spellings(l.ReductionKind())...)
}

// spellings holds Keras's words for each reduction.
func spellings(k Reduction) []string {
	switch k {
	case "", SumOverBatchSize, Mean:
		return []string{string(SumOverBatchSize), string(Mean)}
	case None:
		return []string{string(None), ""}
	}
	return []string{string(k)}
}

// Resolve is [Get] for labels and predictions of the given shapes, which decide what "crossentropy" and "ce" mean:
// binary for one prediction per example, sparse categorical for labels without an axis of classes (or with one of
// length 1), otherwise categorical.
func Resolve(v any, yTrue, yPred ir.Shape) (Loss, error) {
	name, ok := v.(string)
	if low := strings.ToLower(name); !ok || low != "crossentropy" && low != "ce" {
		return Get(v)
	}
	if len(yTrue) == 0 || len(yPred) == 0 {
		return nil, fmt.Errorf("losses: %q needs labels and predictions (batch, ...), received shapes %v and %v", name, yTrue, yPred)
	}
	last, classes := yTrue[len(yTrue)-1], yPred[len(yPred)-1]
	switch {
	case classes == 1:
		return &BinaryCrossentropy{Name: name}, nil
	case len(yTrue) < len(yPred) || last == 1:
		return &SparseCategoricalCrossentropy{Name: name}, nil
	}
	return &CategoricalCrossentropy{Name: name}, nil
}

// Func makes a loss from a function that returns one value for each example, or for each step of an example: (batch,
// ...). If the function returns a scalar, that is one value for the local batch, weighted by the local batch's share of
// the global batch. It should therefore be a mean.
func Func(name string, f func(yTrue, yPred *ops.Tensor) *ops.Tensor) *FuncLoss {
	return &FuncLoss{Name: name, F: f}
}

// FuncLoss is a loss made from a function; see [Func].
type FuncLoss struct {
	common
	F         func(yTrue, yPred *ops.Tensor) *ops.Tensor
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name"`
}

// PerExample implements [Loss].
func (l *FuncLoss) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	if l.F == nil {
		ops.Failf(yPred.Graph(), "FuncLoss %q has no function; make it with losses.Func", l.Name)
	}
	y := l.F(yTrue, yPred)
	if y == nil {
		ops.Failf(yPred.Graph(), "the function of loss %q returned nil; expected one value for each example", l.Name)
	}
	return y
}

// ReductionKind implements [Loss].
func (l *FuncLoss) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *FuncLoss) LossName() string { return named(l.Name, "loss") }

// ConfigObject returns what files hold for the function; see [RegisterFunc].
func (l *FuncLoss) ConfigObject() (map[string]any, error) {
	if l.Reduction != "" && l.Reduction != SumOverBatchSize && l.Reduction != Mean {
		return nil, fmt.Errorf("the loss %q is a function, of which files have no reduction: this one has %q; write a loss type and make it known with losses.Register", l.LossName(), l.Reduction)
	}
	return own.Object(l.F, l.LossName())
}
