package metrics

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

// classes holds the classes of metrics by name, names maps Keras's other spellings to classes, and own holds the
// functions that programs register.
var (
	classes = config.NewRegistry[Metric]("metrics")
	names   = map[string]string{}
	own     = config.NewFunctions[func(yTrue, yPred *ops.Tensor) *ops.Tensor]("metrics.RegisterFunc")
)

// register makes a class known under its Go name and other names.
func register(class Metric, others ...string) {
	classes.Register(class)
	for _, n := range others {
		names[n] = reflect.TypeOf(class).Elem().Name()
	}
}

func init() {
	register((*Mean)(nil), "mean")
	register((*Sum)(nil), "sum")
	register((*Accuracy)(nil), "accuracy")
	register((*BinaryAccuracy)(nil), "binary_accuracy")
	register((*CategoricalAccuracy)(nil), "categorical_accuracy")
	register((*SparseCategoricalAccuracy)(nil), "sparse_categorical_accuracy")
	register((*TopKCategoricalAccuracy)(nil), "top_k_categorical_accuracy")
	register((*SparseTopKCategoricalAccuracy)(nil), "sparse_top_k_categorical_accuracy")

	register((*MeanSquaredError)(nil), "mean_squared_error", "mse", "MSE")
	register((*RootMeanSquaredError)(nil), "root_mean_squared_error")
	register((*MeanAbsoluteError)(nil), "mean_absolute_error", "mae", "MAE")
	register((*MeanAbsolutePercentageError)(nil), "mean_absolute_percentage_error", "mape", "MAPE")
	register((*MeanSquaredLogarithmicError)(nil), "mean_squared_logarithmic_error", "msle", "MSLE")
	register((*CosineSimilarity)(nil), "cosine_similarity")
	register((*LogCoshError)(nil), "log_cosh_error")
	register((*R2Score)(nil), "r2_score")
	register((*PearsonCorrelation)(nil), "pearson_correlation")
	register((*ConcordanceCorrelation)(nil), "concordance_correlation")

	register((*KLDivergence)(nil), "kl_divergence")
	register((*Poisson)(nil), "poisson")
	register((*BinaryCrossentropy)(nil), "binary_crossentropy", "bce", "BCE")
	register((*CategoricalCrossentropy)(nil), "categorical_crossentropy")
	register((*SparseCategoricalCrossentropy)(nil), "sparse_categorical_crossentropy")
	register((*Hinge)(nil), "hinge")
	register((*SquaredHinge)(nil), "squared_hinge")
	register((*CategoricalHinge)(nil), "categorical_hinge")

	register((*TruePositives)(nil), "true_positives")
	register((*TrueNegatives)(nil), "true_negatives")
	register((*FalsePositives)(nil), "false_positives")
	register((*FalseNegatives)(nil), "false_negatives")
	register((*Precision)(nil), "precision")
	register((*Recall)(nil), "recall")
	register((*PrecisionAtRecall)(nil), "precision_at_recall")
	register((*RecallAtPrecision)(nil), "recall_at_precision")
	register((*SensitivityAtSpecificity)(nil), "sensitivity_at_specificity")
	register((*SpecificityAtSensitivity)(nil), "specificity_at_sensitivity")
	register((*AUC)(nil), "auc")
	register((*F1Score)(nil), "f1_score")
	register((*FBetaScore)(nil), "f_beta_score")

	register((*IoU)(nil), "io_u")
	register((*BinaryIoU)(nil), "binary_io_u")
	register((*MeanIoU)(nil), "mean_io_u")
	register((*OneHotIoU)(nil), "one_hot_io_u")
	register((*OneHotMeanIoU)(nil), "one_hot_mean_io_u")

	config.RegisterType(reflect.TypeFor[Metric](), "metric")
	config.RegisterKind("metric", func(v any) (any, error) { return Get(v) })
}

// Register registers a custom metric type under its class name, so that models that use it can be read from files. Call
// it from init. It panics if the name is taken. A type from outside this module is written to files as "Custom>Name",
// or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Metric
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

// New returns a metric of the given class with default configuration.
func New(className string) (Metric, error) {
	if make, ok := classes.Find(className); ok {
		return make(), nil
	}
	return nil, fmt.Errorf("metrics: unknown class %q; %sknown: %s; register your own with metrics.Register", className,
		config.Guess(className, ClassNames()), strings.Join(ClassNames(), ", "))
}

// ClassNames lists the known classes in alphabetical order.
func ClassNames() []string { return classes.Names() }

// loss is a loss of package losses, seen as a metric: the mean of its values.
type loss interface {
	PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor
	LossName() string
}

// Get returns the metric that v stands for: a [Metric], a name of Keras ("mse", "AUC"), a function of labels and
// predictions (see [Func]), a loss (the mean of its values) or a configuration object. A metric requested by name is
// shown under that name. nil gives nil.
//
// The names "accuracy" and "acc" need shapes to decide; see [Resolve].
func Get(v any) (Metric, error) {
	v = config.Given(v)
	if config.IsNil(v) {
		return nil, unfit(v)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case Metric:
		return v, nil
	case string:
		return byName(v)
	case func(yTrue, yPred *ops.Tensor) *ops.Tensor:
		_, name := own.Name(v)
		return Func(cmp.Or(name, "metric"), v), nil
	case loss:
		return &FuncMetric{Name: v.LossName(), F: v.PerExample, Better: worse}, nil
	case config.Object:
		return fromObject(v)
	}
	return nil, unfit(v)
}

func unfit(v any) error {
	return fmt.Errorf("metrics: received %s; expected a metrics.Metric, a name such as \"accuracy\", a loss, or a function of labels and predictions", config.Received(v))
}

// builtIn makes a value of a class of this package.
func builtIn(class string) Metric {
	create, _ := classes.Find(class)
	return create()
}

func byName(name string) (Metric, error) {
	if make, ok := classes.Find(name); ok {
		m := make()
		m.SetName(name)
		return m, nil
	}
	if class, ok := names[name]; ok {
		m := builtIn(class)
		m.SetName(name)
		return m, nil
	}
	if _, f, ok := own.Find(name); ok {
		return Get(f)
	}
	known := slices.Sorted(maps.Keys(names))
	return nil, fmt.Errorf("metrics: unknown metric %q; %sknown: %s; also by class, as MeanSquaredError; give functions of your own names with metrics.RegisterFunc", name, config.Guess(name, known, ClassNames()), strings.Join(append(known, config.WithoutNames(ClassNames(), names)...), ", "))
}

func fromObject(o config.Object) (Metric, error) {
	if name, ok := o.FunctionName(); ok {
		return byName(name)
	}
	m, err := classes.Object(o, New)
	if err != nil {
		return nil, err
	}
	rest, base := config.TakeBaseKeys(o.Config, m, "name", "dtype")
	if err := config.Decode(rest, m); err != nil {
		return nil, err
	}
	name, err := base.Text("name")
	if name != "" {
		m.SetName(name)
	}
	return m, err
}

// Resolve is [Get] for labels and predictions of the given shapes, which decide what "accuracy" and "acc" mean: binary
// accuracy for one prediction per example, sparse categorical for labels without an axis of classes (or with one of
// length 1), otherwise categorical.
func Resolve(v any, yTrue, yPred ir.Shape) (Metric, error) {
	name, ok := v.(string)
	if low := strings.ToLower(name); !ok || low != "accuracy" && low != "acc" {
		return Get(v)
	}
	if len(yTrue) == 0 || len(yPred) == 0 {
		return nil, fmt.Errorf("metrics: %q needs labels and predictions (batch, ...), received shapes %v and %v", name, yTrue, yPred)
	}
	last, classes := yTrue[len(yTrue)-1], yPred[len(yPred)-1]
	switch {
	case classes == 1:
		return &BinaryAccuracy{Name: name}, nil
	case len(yTrue) < len(yPred) || last == 1:
		return &SparseCategoricalAccuracy{Name: name}, nil
	}
	return &CategoricalAccuracy{Name: name}, nil
}
