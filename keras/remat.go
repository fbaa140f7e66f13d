package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// RematScope says which layers are computed again for the gradient, as the field Remat of a [CompileConfig]; see
// [ops.RematScope].
type RematScope = ops.RematScope

// checkRemat refuses unknown modes, and names of layers that a model with declared inputs does not have.
func (m *Model) checkRemat(s *RematScope) error {
	if err := s.Check(); err != nil || s == nil || m.Inputs() == nil {
		return err
	}
	var names []string
	layers.Walk(m, func(l layers.Layer) {
		if l != layers.Layer(m) { // the model itself would keep nothing, and need everything at once when its gradient is computed
			names = append(names, layers.Name(l))
		}
	})
	for _, name := range s.LayerNames {
		if !slices.Contains(names, name) {
			return fmt.Errorf("remat: model %q has no layer %q; %sits layers are %q", m.Name(), name, config.Guess(name, names), names)
		}
	}
	return nil
}
