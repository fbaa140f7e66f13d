package ops

import (
	"fmt"
	"slices"
)

// RematScope says which layers of a model are recomputed for the gradient, instead of keeping their values from the
// forward pass until then: less memory for more time, with the same numbers.
//
// Source: keras.RematScope.
type RematScope struct {
	// Mode is "full" (each layer that is called by a model; "" is the same), "activations" (the activations of layers
	// that have one), "larger_than" (layers whose results have more than OutputSizeThreshold elements) or
	// "list_of_layers" (those named in LayerNames, which may be models inside the model).
	Mode string
	// OutputSizeThreshold is a number of elements, counted over all results and the whole batch; 0 is 1024.
	OutputSizeThreshold int
	// LayerNames are the names of layers, without their path.
	LayerNames []string
}

// Check returns an error if a field has no valid value.
func (s *RematScope) Check() error {
	switch modes := []string{"", "full", "activations", "larger_than", "list_of_layers"}; {
	case s == nil:
		return nil
	case !slices.Contains(modes, s.Mode):
		return fmt.Errorf("remat: the mode %q is unknown; expected one of %q", s.Mode, modes[1:])
	case s.OutputSizeThreshold < 0:
		return fmt.Errorf("remat: OutputSizeThreshold is %d; expected a number of elements, or 0 for 1024", s.OutputSizeThreshold)
	case len(s.LayerNames) > 0 && s.Mode != "list_of_layers":
		return fmt.Errorf("remat: LayerNames count in mode \"list_of_layers\" alone, and the mode is %q", s.Mode)
	}
	return nil
}

// Recomputes reports whether a layer of that name (a model, if container is set) with these results is recomputed.
func (s *RematScope) Recomputes(name string, container bool, results []*Tensor) bool {
	switch {
	case s == nil || container && s.Mode != "list_of_layers":
		return false
	case s.Mode == "list_of_layers":
		return slices.Contains(s.LayerNames, name)
	case s.Mode == "larger_than":
		threshold, size := s.OutputSizeThreshold, 0
		if threshold == 0 {
			threshold = 1024
		}
		for _, y := range results {
			size += y.Shape().Size() //dim:known steps of training have whole batches
		}
		return size > threshold //dim:known
	}
	return s.Mode != "activations"
}

// RecomputesActivations reports whether the activations of layers are recomputed.
func (s *RematScope) RecomputesActivations() bool { return s != nil && s.Mode == "activations" }
