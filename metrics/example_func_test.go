package metrics_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/metrics"
)

// A function of labels and predictions, one number for each example, is a metric: its weighted mean.
func ExampleFuncMetric() {
	m := metrics.Func("largest_error", func(yTrue, yPred *ops.Tensor) *ops.Tensor {
		return ops.Max(ops.Abs(ops.Subtract(yPred, yTrue)), -1)
	})
	show(m, [][]float32{{1, 2}, {3, 4}}, [][]float32{{1, 3}, {6, 4}})
	fmt.Println(m.MetricName())
	// Output:
	// 2.0000
	// largest_error
}
