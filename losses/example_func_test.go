package losses_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/losses"
)

// A function of labels and predictions, one number for each example, is a loss.
func ExampleFuncLoss() {
	fourth := losses.Func("fourth_power", func(yTrue, yPred *ops.Tensor) *ops.Tensor {
		return ops.Mean(ops.PowerScalar(ops.Subtract(yPred, yTrue), 4), -1)
	})
	fmt.Println(fourth.LossName())
	// Output: fourth_power
}
