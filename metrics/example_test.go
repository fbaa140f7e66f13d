package metrics_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// host makes an array of nested slices.
func host(v any) kernels.Array {
	var shape []int
	var values []float64
	var walk func(v reflect.Value, axis int)
	walk = func(v reflect.Value, axis int) {
		switch v.Kind() {
		case reflect.Slice:
			if axis == len(shape) {
				shape = append(shape, v.Len())
			}
			for i := range v.Len() {
				walk(v.Index(i), axis+1)
			}
		case reflect.Int32:
			values = append(values, float64(v.Int()))
		default:
			values = append(values, v.Float())
		}
	}
	walk(reflect.ValueOf(v), 0)
	dtype := ir.Float32
	if strings.HasSuffix(fmt.Sprintf("%T", v), "int32") {
		dtype = ir.Int32
	}
	a, err := kernels.FromFloat64s(dtype, shape, values)
	if err != nil {
		panic(err)
	}
	return a
}

// show prints the result of a metric for labels and predictions.
func show(m metrics.Metric, yTrue, yPred any) {
	if err := metrics.UpdateState(m, host(yTrue), host(yPred), nil); err != nil {
		fmt.Println(err)
		return
	}
	result, err := metrics.ResultOf(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	var words []string
	for _, x := range result.Float64s() {
		words = append(words, fmt.Sprintf("%.4f", x))
	}
	fmt.Println(strings.Join(words, " "))
}

func ExampleAccuracy() {
	show(&metrics.Accuracy{}, []int32{0, 1, 2, 2}, []int32{0, 2, 2, 1})
	// Output: 0.5000
}

func ExampleBinaryAccuracy() {
	show(&metrics.BinaryAccuracy{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 0.5000
}

func ExampleCategoricalAccuracy() {
	show(&metrics.CategoricalAccuracy{}, [][]float32{{0, 1, 0}, {0, 0, 1}}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 0.5000
}

func ExampleSparseCategoricalAccuracy() {
	show(&metrics.SparseCategoricalAccuracy{}, []int32{1, 2}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 0.5000
}

func ExampleTopKCategoricalAccuracy() {
	show(&metrics.TopKCategoricalAccuracy{K: 2}, [][]float32{{0, 1, 0}, {0, 0, 1}}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 1.0000
}

func ExampleSparseTopKCategoricalAccuracy() {
	show(&metrics.SparseTopKCategoricalAccuracy{K: 2}, []int32{1, 2}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 1.0000
}

func ExampleMeanSquaredError() {
	show(&metrics.MeanSquaredError{}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{1, 1}, {1, 2}})
	// Output: 1.5000
}

func ExampleRootMeanSquaredError() {
	show(&metrics.RootMeanSquaredError{}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{1, 1}, {1, 2}})
	// Output: 1.2247
}

func ExampleMeanAbsoluteError() {
	show(&metrics.MeanAbsoluteError{}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{1, 1}, {1, 2}})
	// Output: 1.0000
}

func ExampleMeanAbsolutePercentageError() {
	show(&metrics.MeanAbsolutePercentageError{}, [][]float32{{2, 4}}, [][]float32{{1, 5}})
	// Output: 37.5000
}

func ExampleMeanSquaredLogarithmicError() {
	show(&metrics.MeanSquaredLogarithmicError{}, [][]float32{{0, 1}}, [][]float32{{1, 1}})
	// Output: 0.2402
}

func ExampleCosineSimilarity() {
	show(&metrics.CosineSimilarity{}, [][]float32{{0, 1}, {1, 1}}, [][]float32{{1, 0}, {1, 1}})
	// Output: 0.5000
}

func ExampleLogCoshError() {
	show(&metrics.LogCoshError{}, [][]float32{{0, 1}}, [][]float32{{1, 1}})
	// Output: 0.2169
}

func ExampleR2Score() {
	show(&metrics.R2Score{}, [][]float32{{1}, {4}, {3}}, [][]float32{{2}, {4}, {4}})
	// Output: 0.5714
}

func ExamplePearsonCorrelation() {
	show(&metrics.PearsonCorrelation{}, [][]float32{{1, 2, 3}, {1, 2, 4}}, [][]float32{{1, 2, 3}, {4, 2, 1}})
	// Output: 0.0357
}

func ExampleConcordanceCorrelation() {
	show(&metrics.ConcordanceCorrelation{}, [][]float32{{1, 2, 3}, {1, 2, 4}}, [][]float32{{1, 2, 3}, {4, 2, 1}})
	// Output: 0.0357
}

func ExampleKLDivergence() {
	show(&metrics.KLDivergence{}, [][]float32{{0.5, 0.5}}, [][]float32{{0.25, 0.75}})
	// Output: 0.1438
}

func ExamplePoisson() {
	show(&metrics.Poisson{}, [][]float32{{2, 0}}, [][]float32{{1.5, 0.5}})
	// Output: 0.5945
}

func ExampleBinaryCrossentropy() {
	show(&metrics.BinaryCrossentropy{}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{0.6, 0.4}, {0.4, 0.6}})
	// Output: 0.8149
}

func ExampleCategoricalCrossentropy() {
	show(&metrics.CategoricalCrossentropy{}, [][]float32{{0, 1, 0}, {0, 0, 1}}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 1.1769
}

func ExampleSparseCategoricalCrossentropy() {
	show(&metrics.SparseCategoricalCrossentropy{}, []int32{1, 2}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 1.1769
}

func ExampleHinge() {
	show(&metrics.Hinge{}, [][]float32{{0, 1}}, [][]float32{{-0.5, 0.25}})
	// Output: 0.6250
}

func ExampleSquaredHinge() {
	show(&metrics.SquaredHinge{}, [][]float32{{0, 1}}, [][]float32{{-0.5, 0.25}})
	// Output: 0.4062
}

func ExampleCategoricalHinge() {
	show(&metrics.CategoricalHinge{}, [][]float32{{0, 1, 0}}, [][]float32{{0.5, 0.25, 0}})
	// Output: 1.2500
}

func ExampleTruePositives() {
	show(&metrics.TruePositives{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExampleTrueNegatives() {
	show(&metrics.TrueNegatives{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExampleFalsePositives() {
	show(&metrics.FalsePositives{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExampleFalseNegatives() {
	show(&metrics.FalseNegatives{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExamplePrecision() {
	show(&metrics.Precision{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 0.5000
}

func ExampleRecall() {
	show(&metrics.Recall{Thresholds: []float64{0.3, 0.5}}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000 0.5000
}

func ExamplePrecisionAtRecall() {
	show(&metrics.PrecisionAtRecall{Recall: 0.5}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExampleRecallAtPrecision() {
	show(&metrics.RecallAtPrecision{Precision: 0.8}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 0.5000
}

func ExampleSensitivityAtSpecificity() {
	show(&metrics.SensitivityAtSpecificity{Specificity: 0.5}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExampleSpecificityAtSensitivity() {
	show(&metrics.SpecificityAtSensitivity{Sensitivity: 0.5}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 1.0000
}

func ExampleAUC() {
	show(&metrics.AUC{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 0.7500
}

func ExampleF1Score() {
	show(&metrics.F1Score{}, [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, [][]float32{{0.9, 0.1, 0}, {0.6, 0.4, 0}, {0.1, 0.2, 0.7}})
	// Output: 0.6667 0.0000 1.0000
}

func ExampleFBetaScore() {
	show(&metrics.FBetaScore{Beta: 2, Average: "macro"}, [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, [][]float32{{0.9, 0.1, 0}, {0.6, 0.4, 0}, {0.1, 0.2, 0.7}})
	// Output: 0.6111
}

func ExampleIoU() {
	show(&metrics.IoU{NumClasses: 3, TargetClassIDs: []int{0, 2}}, []int32{0, 1, 2, 2}, []int32{0, 2, 2, 1})
	// Output: 0.6667
}

func ExampleMeanIoU() {
	show(&metrics.MeanIoU{NumClasses: 3}, []int32{0, 1, 2, 2}, []int32{0, 2, 2, 1})
	// Output: 0.4444
}

func ExampleBinaryIoU() {
	show(&metrics.BinaryIoU{}, []float32{0, 0, 1, 1}, []float32{0.1, 0.6, 0.4, 0.9})
	// Output: 0.3333
}

func ExampleOneHotIoU() {
	show(&metrics.OneHotIoU{NumClasses: 3, TargetClassIDs: []int{1}}, [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, [][]float32{{0.9, 0.1, 0}, {0.6, 0.4, 0}, {0.1, 0.2, 0.7}})
	// Output: 0.0000
}

func ExampleOneHotMeanIoU() {
	show(&metrics.OneHotMeanIoU{NumClasses: 3}, [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, [][]float32{{0.9, 0.1, 0}, {0.6, 0.4, 0}, {0.1, 0.2, 0.7}})
	// Output: 0.5000
}

func ExampleMean() {
	m := metrics.NewMean("loss")
	show(m, []float32{1, 3, 5, 7}, []float32{1, 3, 5, 7})
	show(m, []float32{14}, []float32{14})
	// Output:
	// 4.0000
	// 6.0000
}

func ExampleSum() {
	show(&metrics.Sum{}, []float32{1, 3, 5, 7}, []float32{1, 3, 5, 7})
	// Output: 16.0000
}

func ExampleFunc() {
	bias := metrics.Func("bias", func(yTrue, yPred *ops.Tensor) *ops.Tensor { return ops.Subtract(yPred, yTrue) })
	show(bias, []float32{1, 2}, []float32{2, 2})
	// Output: 0.5000
}

func ExampleResolve() {
	for _, labels := range []ir.Shape{{32}, {32, 10}} {
		m, err := metrics.Resolve("accuracy", labels, ir.Shape{32, 10})
		fmt.Printf("%T %s %v\n", m, m.MetricName(), err)
	}
	// Output:
	// *metrics.SparseCategoricalAccuracy accuracy <nil>
	// *metrics.CategoricalAccuracy accuracy <nil>
}

func ExampleReset() {
	m := &metrics.MeanAbsoluteError{}
	show(m, [][]float32{{0}}, [][]float32{{4}})
	if err := metrics.Reset(m); err != nil {
		fmt.Println(err)
	}
	show(m, [][]float32{{0}}, [][]float32{{1}})
	// Output:
	// 4.0000
	// 1.0000
}
