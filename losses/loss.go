package losses

import (
	"encoding/json"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Loss measures how far predictions are from labels.
type Loss interface {
	// PerExample returns one value for each example, or for each step of an example: (batch, ...). A mask on the result
	// says which of them count.
	PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor
	// ReductionKind says how [Compute] combines the values.
	ReductionKind() Reduction
	// LossName is the name in logs.
	LossName() string
}

// Reduction says how the weighted values w·l of the examples become one number.
type Reduction string

// The reductions. The zero value is SumOverBatchSize.
const (
	// SumOverBatchSize divides Σ w·l by the number of values, not by the sum of the weights.
	SumOverBatchSize Reduction = "sum_over_batch_size"
	// Mean is another name for SumOverBatchSize.
	Mean Reduction = "mean"
	// Sum is Σ w·l.
	Sum Reduction = "sum"
	// MeanWithSampleWeight divides Σ w·l by Σ w; without weights it is SumOverBatchSize.
	MeanWithSampleWeight Reduction = "mean_with_sample_weight"
	// None does not combine the values. As the loss of a training step, which is a scalar, it is their sum.
	None Reduction = "none"
)

// known fails if there is no such reduction.
func (k Reduction) known(g *ops.Graph) Reduction {
	switch k {
	case "":
		return SumOverBatchSize
	case SumOverBatchSize, Mean, Sum, MeanWithSampleWeight, None:
		return k
	}
	ops.Failf(g, "unknown reduction %q; known: %s, %s, %s, %s, %s", string(k), SumOverBatchSize, Mean, Sum, MeanWithSampleWeight, None)
	return k
}

// averages reports whether the reduction divides by the number of values.
func (k Reduction) averages() bool { return k == SumOverBatchSize || k == Mean }

// wholeBatch is implemented by losses that may compare examples with each other. It reports whether PerExample's result
// has no batch axis and is the same on all replicas.
type wholeBatch interface {
	reducesBatch(yPred ir.Shape) bool
}

// typed is implemented by losses with a DType of their own.
type typed interface{ dtype() string }

// common holds what the configurations of this package's losses have in common. They embed it.
type common struct{}

// MigrateConfig reads the reduction null, Keras's other spelling of "none".
//
//go:noinline
func (common) MigrateConfig(config map[string]json.RawMessage) error {
	if string(config["reduction"]) == "null" {
		config["reduction"] = json.RawMessage(`"none"`)
	}
	return nil
}

// named returns the user's name or the default.
func named(name, def string) string {
	if name == "" {
		return def
	}
	return name
}

// batchOf returns the replica that x is traced for. A trace that no strategy manages has one.
func batchOf(x *ops.Tensor) objectives.Batch {
	if r, ok := x.Graph().Root().Owner().(*distribute.Replica); ok {
		return r
	}
	n := 1
	if x.Rank() > 0 {
		n = x.Dim(0)
	}
	return objectives.Single{Traced: x.Graph(), Examples: n}
}
