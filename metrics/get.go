package metrics

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// classes makes each class of metric with default configuration; names gives Keras's other spellings.
var (
	classes = config.NewRegistry[Metric]("metrics")
	names   = map[string]string{}
)

// register makes a class known under its Go name and other names.
func register[T any, P interface {
	*T
	Metric
}](others ...string) {
	class := reflect.TypeFor[T]()
	classes.Register(class, func() Metric { return P(new(T)) })
	for _, n := range others {
		names[n] = class.Name()
	}
}

func init() {
	register[Mean]("mean")
	register[Sum]("sum")
	register[Accuracy]("accuracy")
	register[BinaryAccuracy]("binary_accuracy")
	register[CategoricalAccuracy]("categorical_accuracy")
	register[SparseCategoricalAccuracy]("sparse_categorical_accuracy")
	register[TopKCategoricalAccuracy]("top_k_categorical_accuracy")
	register[SparseTopKCategoricalAccuracy]("sparse_top_k_categorical_accuracy")

	register[MeanSquaredError]("mean_squared_error", "mse", "MSE")
	register[RootMeanSquaredError]("root_mean_squared_error")
	register[MeanAbsoluteError]("mean_absolute_error", "mae", "MAE")
	register[MeanAbsolutePercentageError]("mean_absolute_percentage_error", "mape", "MAPE")
	register[MeanSquaredLogarithmicError]("mean_squared_logarithmic_error", "msle", "MSLE")
	register[CosineSimilarity]("cosine_similarity")
	register[LogCoshError]("log_cosh_error")
	register[R2Score]("r2_score")
	register[PearsonCorrelation]("pearson_correlation")
	register[ConcordanceCorrelation]("concordance_correlation")

	register[KLDivergence]("kl_divergence")
	register[Poisson]("poisson")
	register[BinaryCrossentropy]("binary_crossentropy", "bce", "BCE")
	register[CategoricalCrossentropy]("categorical_crossentropy")
	register[SparseCategoricalCrossentropy]("sparse_categorical_crossentropy")
	register[Hinge]("hinge")
	register[SquaredHinge]("squared_hinge")
	register[CategoricalHinge]("categorical_hinge")

	register[TruePositives]("true_positives")
	register[TrueNegatives]("true_negatives")
	register[FalsePositives]("false_positives")
	register[FalseNegatives]("false_negatives")
	register[Precision]("precision")
	register[Recall]("recall")
	register[PrecisionAtRecall]("precision_at_recall")
	register[RecallAtPrecision]("recall_at_precision")
	register[SensitivityAtSpecificity]("sensitivity_at_specificity")
	register[SpecificityAtSensitivity]("specificity_at_sensitivity")
	register[AUC]("auc")
	register[F1Score]("f1_score")
	register[FBetaScore]("f_beta_score")

	register[IoU]("io_u")
	register[BinaryIoU]("binary_io_u")
	register[MeanIoU]("mean_io_u")
	register[OneHotIoU]("one_hot_io_u")
	register[OneHotMeanIoU]("one_hot_mean_io_u")

	config.RegisterType(reflect.TypeFor[Metric](), "metric")
	config.RegisterKind("metric", func(v any) (any, error) { return Get(v) })
}

// Register makes a metric type of your own known by its class name, for models read from files. It panics when the name
// is taken, and is called from init. A type from outside this module is written to files as "Custom>Name", or with the
// given package instead of Custom, as in Python with @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Metric
}](packageName ...string) {
	classes.Register(reflect.TypeFor[T](), func() Metric { return P(new(T)) }, packageName...)
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

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
	switch v := config.Given(v).(type) {
	case nil:
		return nil, nil
	case Metric:
		return v, nil
	case string:
		return byName(v)
	case func(yTrue, yPred *ops.Tensor) *ops.Tensor:
		return Func("metric", v), nil
	case loss:
		return &FuncMetric{Name: v.LossName(), F: v.PerExample, Better: worse}, nil
	case config.Object:
		return fromObject(v)
	}
	return nil, fmt.Errorf("metrics: received %s; expected a metrics.Metric, a name such as \"accuracy\", a loss, or a function of labels and predictions", config.Received(v))
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
	known := sortedKeys(names)
	return nil, fmt.Errorf("metrics: unknown metric %q; %sknown: %s; also by class, as MeanSquaredError", name, config.Guess(name, known, ClassNames()), strings.Join(append(known, config.WithoutNames(ClassNames(), names)...), ", "))
}

func fromObject(o config.Object) (Metric, error) {
	if name, ok := o.FunctionName(); ok {
		return byName(name)
	}
	m, err := classes.Object(o, New)
	if err != nil {
		return nil, err
	}
	return m, config.Decode(o.Config, m)
}

// Resolve is [Get] for labels and predictions of the given shapes, which decide what "accuracy" and "acc" mean: binary
// accuracy for one prediction an example, sparse categorical for labels without the axis of the classes (or with one of
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
