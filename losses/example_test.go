package losses_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
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

// show prints the loss of labels and predictions.
func show(l losses.Loss, yTrue, yPred any) {
	s := distribute.Default()
	f := s.Function(func(_ *distribute.Replica, in distribute.Batch) *ops.Tensor {
		return losses.Compute(l, in.Y, in.X, nil)
	})
	out, err := s.Run(context.Background(), f, distribute.PerReplicaBatch{{X: []kernels.Array{host(yPred)}, Y: []kernels.Array{host(yTrue)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", out[0].Element(0))
}

func ExampleMeanSquaredError() {
	show(&losses.MeanSquaredError{}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{1, 1}, {1, 0}})
	// Output: 0.5000
}

func ExampleMeanAbsoluteError() {
	show(&losses.MeanAbsoluteError{}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{1, 1}, {1, 2}})
	// Output: 1.0000
}

func ExampleMeanAbsolutePercentageError() {
	show(&losses.MeanAbsolutePercentageError{}, [][]float32{{2, 4}}, [][]float32{{1, 5}})
	// Output: 37.5000
}

func ExampleMeanSquaredLogarithmicError() {
	show(&losses.MeanSquaredLogarithmicError{}, [][]float32{{0, 1}}, [][]float32{{1, 1}})
	// Output: 0.2402
}

func ExampleHuber() {
	show(&losses.Huber{Delta: 0.5}, [][]float32{{0, 1}}, [][]float32{{0.25, 3}})
	// Output: 0.4531
}

func ExampleLogCosh() {
	show(&losses.LogCosh{}, [][]float32{{0, 1}}, [][]float32{{1, 1}})
	// Output: 0.2169
}

func ExampleCosineSimilarity() {
	show(&losses.CosineSimilarity{}, [][]float32{{0, 1}, {1, 1}}, [][]float32{{1, 0}, {1, 1}})
	// Output: -0.5000
}

func ExampleBinaryCrossentropy() {
	show(&losses.BinaryCrossentropy{FromLogits: true}, [][]float32{{0, 1}, {0, 0}}, [][]float32{{-18.6, 0.51}, {2.94, -12.8}})
	// Output: 0.8655
}

func ExampleBinaryFocalCrossentropy() {
	show(&losses.BinaryFocalCrossentropy{ApplyClassBalancing: true}, [][]float32{{0, 1}}, [][]float32{{0.3, 0.8}})
	// Output: 0.0132
}

func ExampleCategoricalCrossentropy() {
	show(&losses.CategoricalCrossentropy{}, [][]float32{{0, 1, 0}, {0, 0, 1}}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 1.1769
}

func ExampleCategoricalFocalCrossentropy() {
	show(&losses.CategoricalFocalCrossentropy{}, [][]float32{{0, 1, 0}, {0, 0, 1}}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 0.2332
}

func ExampleSparseCategoricalCrossentropy() {
	show(&losses.SparseCategoricalCrossentropy{}, []int32{1, 2}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 1.1769
}

func ExampleCategoricalGeneralizedCrossEntropy() {
	show(&losses.CategoricalGeneralizedCrossEntropy{}, []int32{1, 2}, [][]float32{{0.05, 0.95, 0}, {0.1, 0.8, 0.1}})
	// Output: 0.7091
}

func ExampleKLDivergence() {
	show(&losses.KLDivergence{}, [][]float32{{0.5, 0.5}}, [][]float32{{0.25, 0.75}})
	// Output: 0.1438
}

func ExamplePoisson() {
	show(&losses.Poisson{}, [][]float32{{2, 0}}, [][]float32{{1.5, 0.5}})
	// Output: 0.5945
}

func ExampleHinge() {
	show(&losses.Hinge{}, [][]float32{{0, 1}}, [][]float32{{-0.5, 0.25}})
	// Output: 0.6250
}

func ExampleSquaredHinge() {
	show(&losses.SquaredHinge{}, [][]float32{{0, 1}}, [][]float32{{-0.5, 0.25}})
	// Output: 0.4062
}

func ExampleCategoricalHinge() {
	show(&losses.CategoricalHinge{}, [][]float32{{0, 1, 0}}, [][]float32{{0.5, 0.25, 0}})
	// Output: 1.2500
}

func ExampleDice() {
	show(&losses.Dice{}, [][]float32{{1, 0}, {1, 1}}, [][]float32{{1, 0}, {0, 1}})
	// Output: 0.2000
}

func ExampleTversky() {
	show(&losses.Tversky{Alpha: new(0.3), Beta: new(0.7)}, [][]float32{{1, 0}, {1, 1}}, [][]float32{{1, 0}, {0, 1}})
	// Output: 0.1304
}

func ExampleCircle() {
	show(&losses.Circle{Gamma: 2}, []int32{0, 0, 1}, [][]float32{{1, 0}, {0.6, 0.8}, {0, 1}})
	// Output: 0.9150
}

func ExampleCTC() {
	show(&losses.CTC{}, [][]int32{{1, 2}}, [][][]float32{{{0, 3, 0}, {3, 0, 0}, {0, 0, 3}}})
	// Output: 0.1853
}

func ExampleFunc() {
	absolute := losses.Func("absolute", func(yTrue, yPred *ops.Tensor) *ops.Tensor {
		return ops.Mean(ops.Abs(ops.Subtract(yPred, yTrue)), -1)
	})
	show(absolute, [][]float32{{0, 1}, {0, 0}}, [][]float32{{1, 1}, {1, 2}})
	// Output: 1.0000
}

func ExampleGet() {
	loss, _ := losses.Get("mse")
	fmt.Printf("%T\n", loss)
	_, err := losses.Get("huber_loss")
	fmt.Println(strings.SplitAfter(err.Error(), ";")[0])
	// Output:
	// *losses.MeanSquaredError
	// losses: unknown loss "huber_loss";
}

func ExampleReduction() {
	yTrue, yPred := [][]float32{{0}, {0}}, [][]float32{{1}, {3}}
	show(&losses.MeanSquaredError{}, yTrue, yPred)
	show(&losses.MeanSquaredError{Reduction: losses.Sum}, yTrue, yPred)
	// Output:
	// 5.0000
	// 10.0000
}

// In a custom training loop, each replica's mean over the global batch adds up to the mean over all replicas.
func ExampleComputeAverage() {
	s := distribute.Default()
	mse := &losses.MeanSquaredError{}
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		return losses.ComputeAverage(mse.PerExample(in.Y, in.X), r.GlobalBatchSize())
	})
	yTrue, yPred := host([][]float32{{0}, {0}}), host([][]float32{{1}, {3}})
	out, err := s.Run(context.Background(), f, distribute.PerReplicaBatch{{X: []kernels.Array{yPred}, Y: []kernels.Array{yTrue}}})
	fmt.Println(out[0].Element(0), err)
	// Output: 5 <nil>
}
