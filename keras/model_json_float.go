package keras

import (
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// readPolicy gives a model from a document the policy float64 if all its layers have it and the caller names no other.
// Files name only the policies of layers; under float32, targets, losses and metrics would lose digits.
func (m *Model) readPolicy(o *modelObject) {
	if !m.ownPolicy && o.isFloat64() {
		m.policy = ops.DTypePolicy{Name: "float64", Compute: ir.Float64, Variable: ir.Float64}
	}
}

// isFloat64 reports whether there are layers that compute with floats, and all of them declare float64.
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
			if policy.Compute != ir.Float64 || policy.Variable != ir.Float64 { // a quantized policy has the types of its source
				return false
			}
			found = true
		}
	}
	return found
}
