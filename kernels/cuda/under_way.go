//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
)

// listedLayers is how many layers an error lists.
const listedLayers = 4

// during adds to the error of a lost device the layer that was running, if the program has one. If several were, the
// device does not say which it was, unless the host waits for each kernel.
func (e *executable) during(err error) error {
	if e == nil || err == nil || !errors.Is(err, kernels.ErrDeviceLost) {
		return err
	}
	layers := layersOf(e.plan.Steps, nil)
	switch n := len(layers); {
	case n == 0:
		return fmt.Errorf("program %q was under way: %w", e.program.Name, err)
	case n == 1:
		return fmt.Errorf("layer %s of program %q was under way: %w", layers[0], e.program.Name, err)
	case n > listedLayers:
		layers = append(layers[:listedLayers], fmt.Sprintf("and %d more", n-listedLayers))
	}
	return fmt.Errorf("program %q was under way, in one of the layers %s (set %s=1 to learn which): %w", e.program.Name, strings.Join(layers, ", "), blockingVariable, err)
}

// layersOf lists the layers of steps.
func layersOf(steps []lower.Step, layers []string) []string {
	for i := range steps {
		s := &steps[i]
		if s.Scope != "" && !slices.Contains(layers, s.Scope) {
			layers = append(layers, s.Scope)
		}
		layers = layersOf(s.Body, layersOf(s.Head, layersOf(s.Before, layers)))
	}
	return layers
}
