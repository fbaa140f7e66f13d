package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// DTypePolicy says in which type a layer computes and in which it keeps its variables.
type DTypePolicy struct {
	Name     string
	Compute  ir.DType
	Variable ir.DType
}

// dtypePolicies are the policies of Keras for floats: one type for both, or half precision arithmetic on float32 variables.
var dtypePolicies = map[string]DTypePolicy{
	"float16":        {"float16", ir.Float16, ir.Float16},
	"bfloat16":       {"bfloat16", ir.BFloat16, ir.BFloat16},
	"float32":        {"float32", ir.Float32, ir.Float32},
	"float64":        {"float64", ir.Float64, ir.Float64},
	"mixed_float16":  {"mixed_float16", ir.Float16, ir.Float32},
	"mixed_bfloat16": {"mixed_bfloat16", ir.BFloat16, ir.Float32},
}

// ParseDTypePolicy returns the policy of the given name; "" is float32. An integer type name gives a policy of that type, for
// layers that hand on integers.
func ParseDTypePolicy(name string) (DTypePolicy, error) {
	if name == "" {
		name = "float32"
	}
	if p, ok := dtypePolicies[name]; ok {
		return p, nil
	}
	if d, err := ir.ParseDType(name); err == nil {
		return DTypePolicy{name, d, d}, nil
	}
	known := make([]string, 0, len(dtypePolicies))
	for k := range dtypePolicies {
		known = append(known, k)
	}
	slices.Sort(known)
	return DTypePolicy{}, fmt.Errorf("unknown dtype policy %q; known: %s", name, strings.Join(known, ", "))
}

// Float returns the type in which losses and metrics are computed: that of the variables, at least float32.
func (p DTypePolicy) Float() ir.DType {
	if p.Variable == ir.Float64 {
		return ir.Float64
	}
	return ir.Float32
}
