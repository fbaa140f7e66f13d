package distribute

import "fmt"

// ReduceStructure applies Reduce to every leaf of a structure, which must be PerReplica.
func ReduceStructure(s Strategy, op ReduceOp, structure any, axes ...int) (any, error) {
	return MapStructure(structure, func(path string, leaf any) (any, error) {
		v, ok := leaf.(PerReplica)
		if !ok {
			return nil, fmt.Errorf("distribute: Reduce: the structure has a %T at %q; expected PerReplica values", leaf, path)
		}
		return s.Reduce(op, v, axes...)
	})
}

// GatherStructure applies Gather to every leaf of a structure, which must be PerReplica.
func GatherStructure(s Strategy, structure any, axis int) (any, error) {
	return MapStructure(structure, func(path string, leaf any) (any, error) {
		v, ok := leaf.(PerReplica)
		if !ok {
			return nil, fmt.Errorf("distribute: Gather: the structure has a %T at %q; expected PerReplica values", leaf, path)
		}
		return s.Gather(v, axis)
	})
}

// LocalResultsOf turns a structure of values into one structure for each replica of this process. Leaves that are not
// distributed are the same for all; a structure without any PerReplica gives one result.
func LocalResultsOf(s Strategy, structure any) []any {
	n, distributed := len(s.Devices()), false
	out := make([]any, n)
	for i := range out {
		out[i], _ = MapStructure(structure, func(_ string, leaf any) (any, error) {
			switch v := leaf.(type) {
			case PerReplica:
				if len(v) == n {
					distributed = true
					return v[i], nil
				}
			case PerReplicaObjects:
				distributed = true
				return v[i], nil
			}
			return leaf, nil
		})
	}
	if !distributed {
		return out[:1]
	}
	return out
}
