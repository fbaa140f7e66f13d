package metrics_test

import (
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// TruePositives counts the examples whose likeliest class is the right one.
type TruePositives struct {
	metrics.Base
	hits *distribute.Variable
}

func (m *TruePositives) Build(dtype ir.DType, _, _ ir.Type) error {
	fresh, err := m.Begin(m, "", dtype)
	if fresh {
		m.hits = m.Add("hits") // begins at zero
	}
	return err
}

func (m *TruePositives) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	class := ops.Cast(ops.Argmax(yPred, -1), ir.Int32)
	hit := ops.Cast(ops.Equal(ops.Cast(yTrue, ir.Int32), class), m.DTypeOf())
	if sampleWeight != nil {
		hit = ops.Multiply(hit, sampleWeight)
	}
	distribute.ReplicaOf(yPred.Graph()).AssignAdd(m.hits, ops.Sum(hit))
}

func (m *TruePositives) Result(r *distribute.Replica) *ops.Tensor { return r.ReadSynchronized(m.hits) }
func (m *TruePositives) MetricName() string                       { return m.NameOr("true_positives") }
func (m *TruePositives) Direction() string                        { return "max" } // what callbacks take for better

func ExampleBase() {
	m := &TruePositives{}
	labels := data.Must(data.ArrayOf([]int32{0, 1, 1}, 3))
	predictions := data.Must(data.ArrayOf([]float32{.9, .1, .2, .8, .6, .4}, 3, 2))
	for range 2 {
		if err := metrics.UpdateState(m, labels, predictions, nil); err != nil {
			panic(err)
		}
	}
	result, err := metrics.ResultOf(m)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Element(0))
	// Output: 4
}
