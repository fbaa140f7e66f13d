package keras

import (
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// readPolicy gives a model from a document the policy float64 if all its layers have it and the caller names no other:
// files name the policies of layers alone, and under float32 targets, losses and metrics would lose their digits.
func (m *Model) readPolicy(o *modelObject) {
	if !m.ownPolicy && o.isFloat64() {
		m.policy = ops.DTypePolicy{Name: "float64", Compute: ir.Float64, Variable: ir.Float64}
	}
}

// isFloat64 reports whether all layers that compute with floats do so in float64, as far as they say, and there are
// such.
func (o *modelObject) isFloat64() bool {
	found := false
	for _, l := range o.Layers {
		var c modelObject
		if l.ClassName == "InputLayer" || config.Unmarshal(l.Config, &c) != nil {
			continue
		}
		if len(c.Layers) > 0 {
			if !c.isFloat64() {
				return false
			}
			found = true
			continue
		}
		name := config.PolicyName(c.DType)
		if name == "" {
			continue
		}
		if policy, err := ops.ParseDTypePolicy(name); err == nil && policy.Compute.IsFloat() {
			if policy.Compute != ir.Float64 || policy.Variable != ir.Float64 { // a quantized one has the types of its source
				return false
			}
			found = true
		}
	}
	return found
}
