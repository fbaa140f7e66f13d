package metrics

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// UpdateState adds one batch from host memory to the metric's state. sampleWeight may be nil. The batch is spread over
// the replicas of the strategy that the metric's state belongs to, by default one on the CPU.
func UpdateState(m Metric, yTrue, yPred kernels.Array, sampleWeight *kernels.Array) error {
	if m == nil {
		return errNilMetric
	}
	batch := distribute.HostBatch{X: []kernels.Array{yPred}, Y: []kernels.Array{yTrue}}
	if sampleWeight != nil {
		batch.SampleWeight = []kernels.Array{*sampleWeight}
	}
	for _, a := range append(batch.SampleWeight, yTrue) {
		if len(yPred.Type.Shape) == 0 || len(a.Type.Shape) == 0 || a.Type.Shape[0] != yPred.Type.Shape[0] {
			return fmt.Errorf("metrics: %q: labels have shape %v, predictions %v and sample weights %v; all need the same number of examples on axis 0",
				m.MetricName(), yTrue.Type.Shape, yPred.Type.Shape, shapeOf(sampleWeight))
		}
	}
	dtype := ir.Float32
	if yPred.Type.DType == ir.Float64 {
		dtype = ir.Float64
	}
	if err := m.Build(dtype, yTrue.Type, yPred.Type); err != nil {
		return err
	}
	s := strategyOf(m)
	parts, err := distribute.SplitBatch(s, batch)
	if err != nil {
		return err
	}
	_, err = s.Run(context.Background(), updateFunction(m, s, sampleWeight != nil), parts)
	return err
}

func shapeOf(a *kernels.Array) any {
	if a == nil {
		return "none"
	}
	return a.Type.Shape
}

// strategyOf returns the strategy of the metric's state.
func strategyOf(m Metric) distribute.Strategy {
	for _, v := range m.Variables() {
		if s := distribute.StrategyOf(v); s != nil {
			return s
		}
	}
	return distribute.Default()
}

// updateFunction returns the traced update. The metric keeps it, so that later batches need no compilation.
func updateFunction(m Metric, s distribute.Strategy, weighted bool) *distribute.Function {
	var kept map[bool]*distribute.Function
	if b, ok := m.(interface{ base() *Base }); ok {
		if b.base().host == nil {
			b.base().host = map[bool]*distribute.Function{}
		}
		kept = b.base().host
	}
	if f := kept[weighted]; f != nil && f.Strategy() == s {
		return f
	}
	f := s.Function(func(_ *distribute.Replica, in distribute.Batch) *ops.Tensor {
		m.Update(in.Y, in.X, in.SampleWeight)
		return nil
	})
	if kept != nil {
		kept[weighted] = f
	}
	return f
}

// ResultOf returns the metric's result over everything seen.
func ResultOf(m Metric) (kernels.Array, error) {
	if m == nil {
		return kernels.Array{}, errNilMetric
	}
	s := strategyOf(m)
	f := s.Function(func(r *distribute.Replica, _ distribute.Batch) *ops.Tensor { return m.Result(r) })
	defer f.Close()
	out, err := s.Run(context.Background(), f, make(distribute.PerReplicaBatch, len(s.Devices())))
	if err != nil {
		return kernels.Array{}, err
	}
	return out[0], nil
}
